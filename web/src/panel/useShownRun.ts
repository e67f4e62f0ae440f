import type { UIMessage } from "ai";
import { useEffect } from "react";
import { isTool } from "@/parts/calls";
import { moboxOf } from "@/parts/wire";
import { filled, type Pane, panel } from "@/state/panel";

export interface ShownRun {
  /** A message's id is its run's; a chat without answers has none. */
  runId: string | undefined;
  isNewest: boolean;
}

/** The run that the panel shows: the latest, unless the user selected another. */
export function useShownRun(messages: UIMessage[], hasFiles = false): ShownRun {
  const { chosen } = panel.use();
  const newest = messages.findLast(({ role }) => role === "assistant")?.id;
  const isHere = messages.some(({ id, role }) => id === chosen && role === "assistant");
  const shown = messages.find(({ id }) => id === (isHere ? chosen : newest));
  const panes = [
    ...(hasFiles ? ["files"] : []),
    ...(shown ? panesOf(shown) : ["inspector"]),
  ].join();
  useEffect(() => filled.set({ panes: panes.split(",") as Pane[] }), [panes]);
  return { runId: isHere ? chosen : newest, isNewest: !isHere || chosen === newest };
}

const CODE = /```(py|python)/;

/** The panes that have something to show of a message. */
function panesOf({ parts }: UIMessage): Pane[] {
  const calls = parts.filter(isTool);
  const isCode = parts.some((part) =>
    part.type === "text" ? CODE.test(part.text) : moboxOf(part).kind === "code",
  );
  return [
    ...(isCode ? (["code"] as const) : []),
    ...(calls.length > 0 ? (["terminal"] as const) : []),
    "inspector",
  ];
}
