import type { PaneMessage } from "@/panes/wire";

/** The messages of a run so far, in order of their start. */
export type Messages = ReadonlyMap<string, PaneMessage>;

/** Applies updates. Unchanged messages keep their object identity. */
export function fold(before: Messages, told: Iterable<PaneMessage>): Messages {
  const messages = new Map(before);
  for (const message of told) {
    if (message.isRetracted) messages.delete(message.id);
    else messages.set(message.id, joined(messages.get(message.id), message));
  }
  return messages;
}

/** A message stays in the pane where it started. */
function joined(before: PaneMessage | undefined, told: PaneMessage): PaneMessage {
  if (!before) return told;
  const content = told.isMore ? before.content + told.content : told.content;
  return { ...told, pane: before.pane, content };
}

export const inPane = (messages: Messages, pane: PaneMessage["pane"]): PaneMessage[] =>
  [...messages.values()].filter((message) => message.pane === pane);
