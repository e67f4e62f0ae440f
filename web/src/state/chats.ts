import { type ChatRow, deleteChat, getChats, type ListedChat, pinChat, renameChat } from "@/api";
import { failureOf } from "@/failure";
import { notifying } from "@/state/notices";
import { type ChatChange, notifyAll, subscribe } from "@/state/tabs";
import { Store } from "@/store";

const PAGE = 30;
const INTERVAL = 4_000;

interface ChatListState {
  rows: ListedChat[];
  /** Pinned chats, which may be on none of the loaded pages. */
  pinned: ListedChat[];
  /** The open chat, which may be on none of the loaded pages. */
  opened?: ChatRow;
  before?: string | null;
  phase: "loading" | "ready" | "failed";
  /** The last request did not reach the server. */
  isLost: boolean;
}

/** All chats, or search results: page by page, the latest first. */
export class ChatList {
  readonly state = new Store<ChatListState>({
    rows: [],
    pinned: [],
    phase: "loading",
    isLost: false,
  });
  #requested = 0;
  #answered = 0;
  #loadingMore = false;

  constructor(
    readonly query = "",
    readonly agent = "",
  ) {}

  /** Loads the first page again; pages after it stay. */
  refresh = async (): Promise<void> => {
    const request = ++this.#requested;
    try {
      const page = await getChats({ query: this.query, agent: this.agent, limit: PAGE });
      if (request !== this.#requested) return;
      this.#answered = request;
      const { rows, before } = this.state.get();
      const rest = page.before ? after(page.chats, rows) : [];
      this.state.set({
        rows: [...page.chats, ...rest],
        pinned: page.pinned ?? [],
        before: rest.length ? before : page.before,
        phase: "ready",
        isLost: false,
      });
    } catch (error) {
      if (request !== this.#requested) return;
      this.#answered = request;
      const { rows, phase } = this.state.get();
      const isLost = failureOf(error).kind === "lost";
      this.state.set({ phase: rows.length ? phase : "failed", isLost });
    }
  };

  more = async (): Promise<void> => {
    const { before } = this.state.get();
    if (!before || this.#loadingMore) return;
    this.#loadingMore = true;
    try {
      const { query, agent } = this;
      const page = await getChats({ query, agent, before, limit: PAGE });
      const { rows } = this.state.get();
      const known = new Set(rows.map(({ id }) => id));
      const more = page.chats.filter(({ id }) => !known.has(id));
      this.state.set({ rows: [...rows, ...more], before: page.before });
    } catch {
      // The next scroll retries.
    } finally {
      this.#loadingMore = false;
    }
  };

  /** The open chat reports its state before the server is polled. */
  mark = (chat: string, status: ListedChat["status"], failed = false): void => {
    const { rows, pinned } = this.state.get();
    const row = [...rows, ...pinned].find(({ id }) => id === chat);
    if (!row || (row.status === status && Boolean(row.failed) === failed)) return;
    const marked = (each: ListedChat) => (each.id === chat ? { ...each, status, failed } : each);
    this.state.set({ rows: rows.map(marked), pinned: pinned.map(marked) });
  };

  open = (chat: ChatRow): void => this.state.set({ opened: chat });

  titleOf = (chat: string): string | undefined => {
    const { rows, pinned, opened } = this.state.get();
    return [...rows, ...pinned, opened].find((row) => row?.id === chat)?.title;
  };

  /** Polls while a run of a listed chat is active. */
  watch = (): (() => void) => {
    const look = () => {
      // Timers of hidden pages fire once a minute: often enough for a notification.
      const isSeen = document.visibilityState === "visible" || notifying.get() === "on";
      const { rows, pinned } = this.state.get();
      const latest = [...rows.slice(0, PAGE), ...pinned];
      if (isSeen && latest.some(({ status }) => status === "running")) void this.refresh();
    };
    const timer = setInterval(look, INTERVAL);
    return () => clearInterval(timer);
  };

  /** A change to a chat, here or in another tab. */
  onChange = (change: ChatChange): void => {
    const { rows, pinned, opened } = this.state.get();
    if (change.about === "deleted") {
      const isOther = ({ id }: ListedChat) => id !== change.chat;
      this.state.set({ rows: rows.filter(isOther), pinned: pinned.filter(isOther) });
    } else if (change.about === "title") {
      const renamed = <T extends ChatRow>(row: T): T =>
        row.id === change.chat ? { ...row, title: change.title } : row;
      this.state.set({
        rows: rows.map(renamed),
        pinned: pinned.map(renamed),
        opened: opened && renamed(opened),
      });
    } else {
      void this.refresh();
      return;
    }
    // A pending response may be older than the change.
    if (this.#requested !== this.#answered) void this.refresh();
  };
}

/** Rows older than all of a page, which the page does not replace. */
function after(page: ListedChat[], rows: ListedChat[]): ListedChat[] {
  const oldest = page.at(-1)?.updatedAt ?? 0;
  const known = new Set(page.map(({ id }) => id));
  return rows.filter((row) => row.updatedAt <= oldest && !known.has(row.id));
}

/** All chats, as the sidebar shows them. */
export const chats = new ChatList();
subscribe(chats.onChange);

export async function rename(id: string, title: string): Promise<void> {
  const row = await renameChat(id, title);
  notifyAll({ about: "title", chat: id, title: row.title });
}

export async function pin(id: string, isPinned: boolean): Promise<void> {
  await pinChat(id, isPinned);
  notifyAll({ about: "pinned", chat: id });
}

export async function remove(id: string): Promise<void> {
  await deleteChat(id);
  notifyAll({ about: "deleted", chat: id });
}
