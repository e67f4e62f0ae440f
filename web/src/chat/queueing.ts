import type { UIMessage } from "ai";
import type { ConversationState } from "@/chat/conversationState";
import { endingOf, hasFailed } from "@/parts/wire";
import { queue } from "@/state/queue";
import { strings } from "@/strings";

const { notes } = strings.composer.queue;
export type QueueNote = keyof typeof notes;

/** After these, a person decides what becomes of the queue. */
const STOPS: Record<string, QueueNote> = { cancelled: "stopped", interrupted: "unfinished" };

/** Why the first queued message is not sent now; `last` is the chat's last message. */
export function whyHeld(
  { phase, life, refused, connection }: ConversationState,
  last: UIMessage | undefined,
  isEdited: boolean,
): QueueNote | undefined {
  if (connection === "lost" || phase !== "ready") return "offline";
  if (refused) return "refused";
  if (life !== "idle") return life;
  const ending = endingOf(last);
  if (ending === undefined) return "unfinished";
  if (hasFailed(ending)) return "failed";
  return STOPS[ending.reason] ?? (isEdited ? "editing" : undefined);
}

export const isHeld = (state: ConversationState, last: UIMessage | undefined, id: string) =>
  whyHeld(state, last, queue.editing() === id) !== undefined;
