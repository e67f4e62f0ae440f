import { type Attachment, isAttachment } from "@/state/attachments";
import { stored } from "@/state/stored";

/** The key for a new chat, which has no permanent id yet. */
export const NEW_CHAT = "new";

/** A message that the server may have. If it is sent again, it is the same message: stored once. */
export interface Attempt {
  chat: string;
  text: string;
  /** The addresses of its files. */
  files?: string[];
  agent?: string;
  /** The id of the message. */
  message: string;
  idempotencyKey: string;
}
interface Draft {
  /** The text in the field. */
  text: string;
  /** The attached files. */
  files?: Attachment[];
  /** Sent text, until the server has accepted it. */
  sent?: string;
  sentFiles?: Attachment[];
  attempt?: Attempt;
}
type Drafts = Record<string, Draft>;

const isDrafts = (value: unknown): value is Drafts =>
  typeof value === "object" && value !== null && Object.values(value).every(isDraft);

const isDraft = (draft: Draft | undefined) =>
  typeof draft?.text === "string" &&
  [draft.files ?? [], draft.sentFiles ?? []].flat().every(isAttachment);

/** Unsent text and files, which survive leaving the chat and reloading the page. */
const all = stored<Drafts>("mobox:drafts", {}, isDrafts, () => sessionStorage);

const NO_FILES: Attachment[] = [];
const of = (chat: string): Draft => all.get()[chat] ?? { text: "" };

function put(chat: string, draft: Draft): void {
  const { [chat]: _before, ...others } = all.get();
  const isEmpty = draft.text === "" && !draft.files?.length && draft.sent === undefined;
  all.set(isEmpty ? others : { ...others, [chat]: draft });
}

export function useDraft(chat: string): readonly [string, (text: string) => void] {
  const [known] = all.use();
  return [known[chat]?.text ?? "", (text) => put(chat, { ...of(chat), text })];
}

/** The files attached to a draft. */
export function useDraftFiles(chat: string): Attachment[] {
  const [known] = all.use();
  return known[chat]?.files ?? NO_FILES;
}

export const drafts = {
  /** Clears the field; text and files are kept until the server has accepted them. */
  send(chat: string, sent: string, attempt?: Attempt, sentFiles: Attachment[] = NO_FILES): void {
    const { text, files = NO_FILES } = of(chat);
    const left = files.filter(({ id }) => !sentFiles.some((each) => each.id === id));
    put(chat, { text: text.trim() === sent ? "" : text, files: left, sent, sentFiles, attempt });
  },
  /** The server accepted it; later text and files move to the chat's permanent id. */
  drop(chat: string, taken: string, name: string): void {
    const { text, files, sent, attempt } = of(chat);
    const isOut = sent !== undefined;
    put(chat, { text: "" });
    put(name, {
      text: isOut ? text : without(text, taken),
      files: isOut
        ? files
        : files?.filter(({ part }) => !attempt?.files?.includes(part?.url ?? "")),
    });
  },
  /** Puts unsent text and files back, before those that were added since. */
  takeBack(chat: string): void {
    const { text, files = NO_FILES, sent = "", sentFiles = NO_FILES, attempt } = of(chat);
    const both = [sent, text].filter(Boolean).join(BETWEEN);
    put(chat, { text: both, files: [...sentFiles, ...files], attempt });
  },
  /** Adds text and files that are in no draft yet. */
  restore(chat: string, text: string, files: Attachment[]): void {
    const now = of(chat);
    const both = [text, now.text].filter(Boolean).join(BETWEEN);
    put(chat, { ...now, text: both, files: [...files, ...(now.files ?? NO_FILES)] });
  },
  /** Empties the field. */
  clear: (chat: string): void => put(chat, { ...of(chat), text: "", files: NO_FILES }),
  attach(chat: string, files: Attachment[]): void {
    const now = of(chat);
    put(chat, { ...now, files: [...(now.files ?? NO_FILES), ...files] });
  },
  detach(chat: string, id: string): void {
    const now = of(chat);
    put(chat, { ...now, files: now.files?.filter((each) => each.id !== id) });
  },
  /** The server has stored a file. Its draft may have moved to another chat id meanwhile. */
  stored(id: string, part: Attachment["part"]): void {
    const changed = (each: Attachment) => (each.id === id ? { ...each, part } : each);
    for (const [chat, draft] of Object.entries(all.get())) {
      if (draft.files?.some((each) => each.id === id))
        put(chat, { ...draft, files: draft.files.map(changed) });
    }
  },
  /** The message of this draft whose arrival is unknown. */
  attempt: (chat: string): Attempt | undefined => of(chat).attempt,
  files: (chat: string): Attachment[] => of(chat).files ?? NO_FILES,
};

/** Between a message that was put back and the text after it. */
const BETWEEN = "\n\n";

/** The text after a message that was put back and arrived after all. */
function without(text: string, taken: string): string {
  if (text === taken) return "";
  return text.startsWith(taken + BETWEEN) ? text.slice(taken.length + BETWEEN.length) : text;
}
