import type { ChatRow } from "@/api";
import type { Attachment, FilePart } from "@/state/attachments";
import { NEW_CHAT } from "@/state/drafts";

/** `waiting`: the run waits for the user's answer. */
export type Life = "idle" | "working" | "waiting";

export interface ConversationState {
  /** Whether the stored chat is loaded; `missing`: it does not exist or was deleted. */
  phase: "loading" | "ready" | "missing" | "unreadable";
  /** State of the run; `waiting`: for the user's answer. */
  life: Life;
  /** A stop was requested, and the run has not ended yet. */
  stopping: boolean;
  /** What the server does before the agent starts, such as installing its packages. */
  doing?: string;
  connection: "ok" | "lost";
  /** A message or an answer that the server has not accepted yet. */
  unsent?: "message" | "answer";
  /** A stop took the message back: the server was never reached. */
  takenBack: boolean;
  /** The agent of the last run. */
  agent?: string;
  before?: string | null;
  loadingOlder: boolean;
  /** A message is being replayed; its previous version is shown until the replay has caught up. */
  replaying: boolean;
  /** The error of the last refused request. */
  refused?: { message: string; again?: () => void };
  /** The key of the stored draft. */
  draft: string;
}

/** The user's message and the selected agent. */
export interface Turn {
  text?: string;
  files?: Attachment[];
  agent?: string;
  /** It comes from the queue, not from the composer. */
  queued?: string;
  /** The active run, which it ends. */
  ends?: string;
}

/** A user action that the server has not accepted yet. */
export interface Unsent extends Turn {
  what?: ConversationState["unsent"];
  again: () => Promise<void>;
  takeBack: () => void;
  /** Repeats it after a refusal. */
  repeat?: () => void;
}

export interface Hooks {
  /** The server accepted a turn. */
  onStarted: () => void;
  /** The chat's state was loaded. */
  onView: (chat: ChatRow) => void;
  /** A run of this chat started or ended. */
  onLife: (life: Life, hasFailed: boolean) => void;
}

export const atFirst = (id: string, isNew: boolean): ConversationState => ({
  phase: isNew ? "ready" : "loading",
  life: "idle",
  stopping: false,
  connection: "ok",
  takenBack: false,
  loadingOlder: false,
  replaying: false,
  draft: isNew ? NEW_CHAT : id,
});

/** A user message without its id. */
export const userMessage = (text: string, files: FilePart[] = []) => ({
  role: "user" as const,
  parts: [...files, ...(text || !files.length ? [{ type: "text" as const, text }] : [])],
});
