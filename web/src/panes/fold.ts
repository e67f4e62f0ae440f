import type { PaneMessage } from "@/panes/wire";

/** The messages of a run so far, in the order in which they began. */
export type Messages = ReadonlyMap<string, PaneMessage>;

/** What there is when this was told too. Messages of which nothing was told stay the same objects. */
export function fold(before: Messages, told: Iterable<PaneMessage>): Messages {
  const messages = new Map(before);
  for (const message of told) {
    if (message.isRetracted) messages.delete(message.id);
    else messages.set(message.id, joined(messages.get(message.id), message));
  }
  return messages;
}

/** A message stays in the pane that it began in. */
function joined(before: PaneMessage | undefined, told: PaneMessage): PaneMessage {
  if (!before) return told;
  const content = told.isMore ? before.content + told.content : told.content;
  return { ...told, pane: before.pane, content };
}

export const inPane = (messages: Messages, pane: PaneMessage["pane"]): PaneMessage[] =>
  [...messages.values()].filter((message) => message.pane === pane);
