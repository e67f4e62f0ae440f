import { stored } from "@/state/stored";

/** The chat that is not begun: it has no name that would outlive the page. */
export const NEW_CHAT = "new";

interface Draft {
  /** What stands in the field. */
  text: string;
  /** What was sent, until the server has it. */
  sent?: string;
}
type Drafts = Record<string, Draft>;

const isDrafts = (value: unknown): value is Drafts =>
  typeof value === "object" &&
  value !== null &&
  Object.values(value).every((draft) => typeof draft?.text === "string");

/** What was written and the server has not: it outlives leaving the chat and reloading the page. */
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
  /** It leaves the field, and is kept until the server has it. */
  send(chat: string, sent: string): void {
    const { text } = of(chat);
    put(chat, { text: text.trim() === sent ? "" : text, sent });
  },
  /** The server has it; what was written since goes with the chat, which now has a name. */
  drop(chat: string, taken: string, name: string): void {
    const { text, sent } = of(chat);
    put(chat, { text: "" });
    put(name, { text: sent === undefined && text === taken ? "" : text });
  },
  /** What did not go stands in the field again, unless something else was written. */
  takeBack(chat: string): void {
    const { text, sent = "" } = of(chat);
    put(chat, { text: text || sent });
  },
};
