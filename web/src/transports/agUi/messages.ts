import type { FileUIPart, UIMessage } from "ai";
import type { InitialMessages } from "@/transports/agUi/readingAgent";

type Message = NonNullable<InitialMessages>[number];

const MEDIA = new Set(["image", "audio", "video"]);

/** A user message as AG-UI content: text, or text and files. */
export function asMessage({ id, parts }: UIMessage): Message {
  const [first, ...more] = parts;
  const isOneText = first?.type === "text" && more.length === 0;
  const content = isOneText ? first.text : parts.flatMap(asPart);
  return { id, role: "user", content } as Message;
}

function asPart(part: UIMessage["parts"][number]): object[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  return part.type === "file" ? [asFile(part)] : [];
}

function asFile({ mediaType, url, filename }: FileUIPart) {
  const [kind = ""] = mediaType.split("/");
  const head = `data:${mediaType};base64,`;
  const source = url.startsWith(head)
    ? { type: "data", value: url.slice(head.length), mimeType: mediaType }
    : { type: "url", value: url, mimeType: mediaType };
  const metadata = filename === undefined ? {} : { metadata: { filename } };
  return { type: MEDIA.has(kind) ? kind : "document", source, ...metadata };
}
