import { stored } from "@/state/stored";

/** The key for a new chat, which has no permanent id yet. */
export const NEW_CHAT = "new";

interface Draft {
  /** The text in the field. */
  text: string;
  /** Sent text, until the server has accepted it. */
  sent?: string;
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
  send(chat: string, sent: string): void {
    const { text } = of(chat);
    put(chat, { text: text.trim() === sent ? "" : text, sent });
  },
  /** The server accepted it; later text moves to the chat's permanent id. */
  drop(chat: string, taken: string, name: string): void {
    const { text, sent } = of(chat);
    put(chat, { text: "" });
    put(name, { text: sent === undefined && text === taken ? "" : text });
  },
  /** Puts unsent text back into the field, unless that has new text. */
  takeBack(chat: string): void {
    const { text, sent = "" } = of(chat);
    put(chat, { text: text || sent });
  },
};
