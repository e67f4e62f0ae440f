/**
 * Notifications about chats between the tabs of a browser. Without `BroadcastChannel`, a tab refreshes when
 * it becomes visible.
 */
export type News =
  | { about: "turn"; chat: string }
  | { about: "end"; chat: string }
  | { about: "title"; chat: string; title: string }
  | { about: "deleted"; chat: string };

const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("mobox");
const listeners = new Set<(news: News) => void>();

if (channel) {
  channel.onmessage = ({ data }: MessageEvent<News>) => {
    if (typeof data?.chat === "string") deliver(data);
  };
}

function deliver(news: News): void {
  for (const listener of listeners) listener(news);
}

/** Notifies the other tabs. */
export function tell(news: News): void {
  channel?.postMessage(news);
}

/** Notifies the other tabs and all listeners in this one. */
export function announce(news: News): void {
  tell(news);
  deliver(news);
}

export function hear(listener: (news: News) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
