import { isToolUIPart, type UIMessage } from "ai";
import type { ChatView } from "@/api";

interface History {
  messages: UIMessage[];
  /** The cursor of older messages. */
  before?: string | null;
}

/**
 * Merges the server's messages into the page's: pages loaded before stay, unchanged messages keep their
 * object identity, and the message of an active run stays last.
 */
export function merge(mine: UIMessage[], before: History["before"], view: ChatView): History {
  const known = new Map(mine.map((message) => [message.id, message]));
  const start = mine.findIndex((message) => message.id === view.messages[0]?.id);
  const live = view.activeRun && known.get(view.activeRun.id);
  const stored = view.messages.map((message) => {
    const old = known.get(message.id);
    return old && JSON.stringify(old) === JSON.stringify(message) ? old : message;
  });
  return {
    messages: [...mine.slice(0, Math.max(start, 0)), ...stored, ...(live ? [live] : [])],
    before: start > 0 ? before : view.before,
  };
}

/** Prepends older messages; pages may overlap. */
export function withOlder(mine: UIMessage[], page: UIMessage[]): UIMessage[] {
  const known = new Set(mine.map(({ id }) => id));
  return [...page.filter(({ id }) => !known.has(id)), ...mine];
}

/** The messages, with the stored version of one that has ended. */
export function withNewer(mine: UIMessage[], stored: UIMessage[], id: string): UIMessage[] {
  const newer = stored.find((message) => message.id === id);
  return newer ? mine.map((message) => (message.id === id ? newer : message)) : mine;
}

/** The ids of open approval requests of a message's tool calls. */
export function approvalsIn(message: UIMessage): string[] {
  return message.parts.flatMap((part) =>
    isToolUIPart(part) && part.state === "approval-requested" ? [part.approval.id] : [],
  );
}

/** The length of a message, which a replay must reach before it replaces the message. */
export function weight(message: UIMessage): number {
  return message.parts.reduce((sum, part) => {
    const words = "text" in part && typeof part.text === "string" ? part.text.length : 0;
    return sum + 1 + words;
  }, 0);
}
