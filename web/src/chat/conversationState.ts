import type { ChatRow } from "@/api";
import { NEW_CHAT } from "@/state/drafts";

/** Of a run: `waiting` is for the person's answer. */
export type Life = "idle" | "working" | "waiting";

export interface ConversationState {
  /** Of what is stored: `missing` is a chat that nobody knows (any more). */
  phase: "loading" | "ready" | "missing" | "unreadable";
  /** Of the run: `waiting` for the person's answer. */
  life: Life;
  /** The person wants it to end, and it has not yet. */
  stopping: boolean;
  connection: "ok" | "lost";
  /** Who answered last. */
  agent?: string;
  before?: string | null;
  loadingOlder: boolean;
  /** A message that is here is read once more: until that has caught up, it is shown as it was. */
  replaying: boolean;
  /** What the server said no to, in its words. */
  refused?: { message: string; again?: () => void };
  /** By which name its draft is kept. */
  draft: string;
}

/** What the person wants to be answered, and by whom. */
export interface Turn {
  text?: string;
  agent?: string;
}

/** Something the person did, until the server has it. */
export interface Unsent extends Turn {
  again: () => Promise<void>;
  takeBack: () => void;
  /** Does it once more, after it was refused. */
  repeat?: () => void;
}

export interface Hooks {
  /** A turn of this chat was taken by the server. */
  onBegun: () => void;
  /** The server told how the chat stands. */
  onView: (chat: ChatRow) => void;
  /** A run of this chat began or is over. */
  onLife: (life: Life) => void;
}

export const atFirst = (id: string, isNew: boolean): ConversationState => ({
  phase: isNew ? "ready" : "loading",
  life: "idle",
  stopping: false,
  connection: "ok",
  loadingOlder: false,
  replaying: false,
  draft: isNew ? NEW_CHAT : id,
});

/** A message of the person's, but for its name. */
export const said = (text: string) => ({
  role: "user" as const,
  parts: [{ type: "text" as const, text }],
});
