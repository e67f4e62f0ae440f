import type { UIMessage } from "ai";
import { panel } from "@/state/panel";

export interface ShownRun {
  /** A message's id is its run's; a chat in which nobody answered has none. */
  runId: string | undefined;
  isNewest: boolean;
}

/** Which run of a chat the panel shows: the newest, unless the person chose another one of it. */
export function useShownRun(messages: UIMessage[]): ShownRun {
  const { chosen } = panel.use();
  const newest = messages.findLast(({ role }) => role === "assistant")?.id;
  const isHere = messages.some(({ id, role }) => id === chosen && role === "assistant");
  return { runId: isHere ? chosen : newest, isNewest: !isHere || chosen === newest };
}
