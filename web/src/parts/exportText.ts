import type { UIMessage } from "ai";

/** Stand-in. */
export function plainText(message: UIMessage): string {
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** Stand-in. */
export function markdown(messages: UIMessage[]): string {
  return messages.map((message) => `## ${message.role}\n\n${plainText(message)}`).join("\n\n");
}
