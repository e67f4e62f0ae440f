import type { UIMessage } from "ai";
import { panel } from "@/state/panel";

export interface ShownRun {
  /** A message's id is its run's; a chat without answers has none. */
  runId: string | undefined;
  isNewest: boolean;
}

/** The run that the panel shows: the latest, unless the user selected another. */
export function useShownRun(messages: UIMessage[]): ShownRun {
  const { chosen } = panel.use();
  const newest = messages.findLast(({ role }) => role === "assistant")?.id;
  const isHere = messages.some(({ id, role }) => id === chosen && role === "assistant");
  return { runId: isHere ? chosen : newest, isNewest: !isHere || chosen === newest };
}
