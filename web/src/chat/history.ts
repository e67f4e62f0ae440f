import { isToolUIPart, type UIMessage } from "ai";
import type { ChatView } from "@/api";

interface History {
  messages: UIMessage[];
  /** Where older ones are. */
  before?: string | null;
}

/**
 * What is on the page, brought up to what the server has: pages that were loaded before stay, what
 * is the same stays the same object, and the message of a run that goes on stays at the end.
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

/** With what was before them; pages may overlap. */
export function withOlder(mine: UIMessage[], page: UIMessage[]): UIMessage[] {
  const known = new Set(mine.map(({ id }) => id));
  return [...page.filter(({ id }) => !known.has(id)), ...mine];
}

/** The ids of the approvals that a message asks for by its calls. */
export function askedIn(message: UIMessage): string[] {
  return message.parts.flatMap((part) =>
    isToolUIPart(part) && part.state === "approval-requested" ? [part.approval.id] : [],
  );
}

/** How much of a message there is: what a replay must reach before it may take its place. */
export function weight(message: UIMessage): number {
  return message.parts.reduce((sum, part) => {
    const words = "text" in part && typeof part.text === "string" ? part.text.length : 0;
    return sum + 1 + words;
  }, 0);
}
