import { stored } from "@/state/stored";

/** The key for a new chat, which has no permanent id yet. */
export const NEW_CHAT = "new";

/** A message that the server may have. If its text is sent again, it is the same message: stored once. */
export interface Attempt {
  chat: string;
  text: string;
  agent?: string;
  /** The id of the message. */
  message: string;
  idempotencyKey: string;
}
interface Draft {
  /** The text in the field. */
  text: string;
  /** Sent text, until the server has accepted it. */
  sent?: string;
  attempt?: Attempt;
}
type Drafts = Record<string, Draft>;

const isDrafts = (value: unknown): value is Drafts =>
  typeof value === "object" &&
  value !== null &&
  Object.values(value).every((draft) => typeof draft?.text === "string");

/** Unsent text, which survives leaving the chat and reloading the page. */
const all = stored<Drafts>("mobox:drafts", {}, isDrafts, () => sessionStorage);

const of = (chat: string): Draft => all.get()[chat] ?? { text: "" };

function put(chat: string, draft: Draft): void {
  const { [chat]: _before, ...others } = all.get();
  const isEmpty = draft.text === "" && draft.sent === undefined;
  all.set(isEmpty ? others : { ...others, [chat]: draft });
}

export function useDraft(chat: string): readonly [string, (text: string) => void] {
  const [known] = all.use();
  return [known[chat]?.text ?? "", (text) => put(chat, { ...of(chat), text })];
}

export const drafts = {
  /** Clears the field; the text is kept until the server has accepted it. */
  send(chat: string, sent: string, attempt?: Attempt): void {
    const { text } = of(chat);
    put(chat, { text: text.trim() === sent ? "" : text, sent, attempt });
  },
  /** The server accepted it; later text moves to the chat's permanent id. */
  drop(chat: string, taken: string, name: string): void {
    const { text, sent } = of(chat);
    put(chat, { text: "" });
    put(name, { text: sent === undefined ? without(text, taken) : text });
  },
  /** Puts unsent text back into the field, before the text that was typed since. */
  takeBack(chat: string): void {
    const { text, sent = "", attempt } = of(chat);
    put(chat, { text: [sent, text].filter(Boolean).join(BETWEEN), attempt });
  },
  /** The message of this draft whose arrival is unknown. */
  attempt: (chat: string): Attempt | undefined => of(chat).attempt,
};

/** Between a message that was put back and the text after it. */
const BETWEEN = "\n\n";

/** The text after a message that was put back and arrived after all. */
function without(text: string, taken: string): string {
  if (text === taken) return "";
  return text.startsWith(taken + BETWEEN) ? text.slice(taken.length + BETWEEN.length) : text;
}
