/**
 * Notifications about chats between the tabs of a browser. Without `BroadcastChannel`, a tab refreshes when
 * it becomes visible.
 */
export type ChatChange =
  | { about: "turn"; chat: string }
  | { about: "end"; chat: string }
  | { about: "pinned"; chat: string }
  | { about: "branch"; chat: string }
  | { about: "title"; chat: string; title: string }
  | { about: "deleted"; chat: string };

const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("mobox");
const listeners = new Set<(change: ChatChange) => void>();

if (channel) {
  channel.onmessage = ({ data }: MessageEvent<ChatChange>) => {
    if (typeof data?.chat === "string") deliver(data);
  };
}

function deliver(change: ChatChange): void {
  for (const listener of listeners) listener(change);
}

/** Notifies the other tabs. */
export function notifyTabs(change: ChatChange): void {
  channel?.postMessage(change);
}

/** Notifies the other tabs and all listeners in this one. */
export function notifyAll(change: ChatChange): void {
  notifyTabs(change);
  deliver(change);
}

export function subscribe(listener: (change: ChatChange) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
