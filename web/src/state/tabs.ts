/**
 * What the tabs of one browser tell each other about chats. Where there is no `BroadcastChannel`, a
 * tab finds out when it becomes visible.
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

/** To the other tabs. */
export function tell(news: News): void {
  channel?.postMessage(news);
}

/** To the other tabs, and to everybody in this one. */
export function announce(news: News): void {
  tell(news);
  deliver(news);
}

export function hear(listener: (news: News) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
