/**
 * Parses messages of the format `panes` (docs/panes.md). Unknown messages are ignored: a newer server may
 * send more.
 */
import { fieldsOf, numberOf, parsed, textOf } from "@/json";

export interface PaneMessage {
  id: string;
  pane: "chat" | "webide" | "terminal";
  content: string;
  /** `content` is appended instead of replacing the present content. */
  isMore: boolean;
  /** Still streaming. */
  isPending: boolean;
  isRetracted: boolean;
  event?: "tool_call" | "tool_invocation" | "tool_output" | "action_output";
  step?: number;
  /** The label, without the leading emoji. */
  title?: string;
  toolName?: string;
  toolId?: string;
  language?: string;
  /** The message that this one copies. */
  copyOf?: string;
  url?: string;
  mediaType?: string;
  /** Why the run ended. */
  reason?: string;
}

const PANES = new Set<unknown>(["chat", "webide", "terminal"]);

export function readMessage(data: string): PaneMessage | undefined {
  const fields = fieldsOf(parsed(data));
  const about = fieldsOf(fields.metadata);
  if (typeof fields.message_id !== "string" || !PANES.has(about.component)) return undefined;
  return {
    id: fields.message_id,
    pane: about.component as PaneMessage["pane"],
    content: textOf(fields.content) ?? "",
    isMore: about.streaming === true,
    isPending: about.status === "pending",
    isRetracted: about.retracted === true,
    event: textOf(about.event_type) as PaneMessage["event"],
    step: numberOf(fields.step_number),
    title: textOf(about.title)?.replace(/^\P{L}+/u, ""),
    toolName: textOf(about.tool_name),
    toolId: textOf(about.tool_id),
    language: textOf(about.language),
    copyOf: textOf(about.copy_of),
    url: textOf(about.url),
    mediaType: textOf(about.media_type),
    reason: textOf(about.reason),
  };
}
