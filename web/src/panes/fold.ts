import type { PaneMessage } from "@/panes/wire";

/** The messages of a run so far, in order of their start. */
export type Messages = ReadonlyMap<string, PaneMessage>;

/** Applies updates. Unchanged messages keep their object identity. */
export function fold(before: Messages, updates: Iterable<PaneMessage>): Messages {
  const messages = new Map(before);
  for (const message of updates) {
    if (message.isRetracted) messages.delete(message.id);
    else messages.set(message.id, joined(messages.get(message.id), message));
  }
  return messages;
}

/** A message stays in the pane where it started. */
function joined(before: PaneMessage | undefined, updates: PaneMessage): PaneMessage {
  if (!before) return updates;
  const content = updates.isMore ? before.content + updates.content : updates.content;
  return { ...updates, pane: before.pane, content };
}

export const inPane = (messages: Messages, pane: PaneMessage["pane"]): PaneMessage[] =>
  [...messages.values()].filter((message) => message.pane === pane);
