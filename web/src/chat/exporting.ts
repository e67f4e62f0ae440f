import type { UIMessage } from "ai";
import { allMessages, type Feedback, getFeedback } from "@/api";
import { chatMarkdown } from "@/parts/exportText";
import { strings } from "@/strings";
import { copyText } from "@/ui/clipboard";
import { save } from "@/ui/save";

/** A chat to export. */
export interface Whole {
  id: string;
  title: string;
  messages: UIMessage[];
  /** On answers of all branches. */
  feedback: Feedback[];
}

/** All messages: the stored ones, then the streaming one, which only the page has. */
export async function wholeOf(id: string, title: string, shown: UIMessage[]): Promise<Whole> {
  const [stored, feedback] = await Promise.all([allMessages(id), getFeedback(id)]);
  const known = new Set(stored.map((message) => message.id));
  const unstored = shown.filter((message) => !known.has(message.id));
  return { id, title, messages: [...stored, ...unstored], feedback };
}

/** As Markdown; below an answer what the person thought of it. */
export function wholeMarkdown({ title, messages, feedback }: Whole): string {
  const given = new Map(feedback.map((each) => [each.runId, each]));
  return chatMarkdown(title, messages, ({ id }) => {
    const { value, comment } = given.get(id) ?? {};
    if (!value) return undefined;
    const words = strings.answers.feedback[value];
    return comment ? `*${words}:* ${comment.replace(/\s+/g, " ")}` : `*${words}*`;
  });
}

/** Returns false if the browser refused. */
export const copyChat = (chat: Whole): Promise<boolean> => copyText(wholeMarkdown(chat));

export const saveMarkdown = (chat: Whole): void =>
  save(fileName(chat.title, "md"), "text/markdown", wholeMarkdown(chat));

export const saveJson = (chat: Whole): void =>
  save(fileName(chat.title, "json"), "application/json", JSON.stringify(chat, null, 2));

/** A file name made from a title. */
export function fileName(title: string, ending: string): string {
  const words = title
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return `${words.slice(0, 60) || "chat"}.${ending}`;
}
