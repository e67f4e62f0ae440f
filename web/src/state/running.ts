import { getMessages } from "@/api";
import { Store, useStore } from "@/state/store";
import { hear } from "@/state/tabs";

const INTERVAL = 4_000;

/**
 * The chats of which this browser knows that an agent is at work. The chat that is open says so
 * itself; of one that was left, the server is asked until it is done.
 */
const state = new Store<{ ids: ReadonlySet<string> }>({ ids: new Set() });
const open = new Set<string>();

function mark(id: string, isRunning: boolean): void {
  const { ids } = state.get();
  if (ids.has(id) === isRunning) return;
  const next = new Set(ids);
  if (isRunning) next.add(id);
  else next.delete(id);
  state.set({ ids: next });
}

async function look(id: string): Promise<void> {
  try {
    mark(id, (await getMessages(id, undefined, 1)).activeRun?.status === "running");
  } catch {
    mark(id, false);
  }
}

function lookAtAll(): void {
  if (document.visibilityState !== "visible") return;
  for (const id of state.get().ids) if (!open.has(id)) void look(id);
}

export const running = {
  mark,
  use: () => useStore(state).ids,
  /** A chat is on the page, and says itself how it stands. */
  follow(id: string): () => void {
    open.add(id);
    return () => open.delete(id);
  },
  /** Begins to look at chats that were left, and to hear of those in other tabs. */
  watch(): () => void {
    const timer = setInterval(lookAtAll, INTERVAL);
    const deaf = hear((news) => {
      if (!open.has(news.chat)) mark(news.chat, news.about === "turn");
    });
    return () => {
      clearInterval(timer);
      deaf();
    };
  },
};
