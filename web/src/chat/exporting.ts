import type { UIMessage } from "ai";
import { allMessages } from "@/api";
import { chatMarkdown } from "@/parts/exportText";
import { copyText } from "@/ui/clipboard";
import { save } from "@/ui/save";

/** A chat to export. */
export interface Whole {
  id: string;
  title: string;
  messages: UIMessage[];
}

/** All messages: the stored ones, then the streaming one, which only the page has. */
export async function wholeOf(id: string, title: string, shown: UIMessage[]): Promise<Whole> {
  const stored = await allMessages(id);
  const known = new Set(stored.map((message) => message.id));
  const unstored = shown.filter((message) => !known.has(message.id));
  return { id, title, messages: [...stored, ...unstored] };
}

/** Returns false if the browser refused. */
export const copyChat = ({ title, messages }: Whole): Promise<boolean> =>
  copyText(chatMarkdown(title, messages));

export const saveMarkdown = ({ title, messages }: Whole): void =>
  save(fileName(title, "md"), "text/markdown", chatMarkdown(title, messages));

export const saveJson = ({ id, title, messages }: Whole): void =>
  save(
    fileName(title, "json"),
    "application/json",
    JSON.stringify({ id, title, messages }, null, 2),
  );

/** A file name made from a title. */
export function fileName(title: string, ending: string): string {
  const words = title
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return `${words.slice(0, 60) || "chat"}.${ending}`;
}
