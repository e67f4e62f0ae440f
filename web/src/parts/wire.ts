/** Mobox's additions to the AI SDK's parts. Nothing here is trusted. */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "@/json";

export type Part = UIMessage["parts"][number];

/** The members that may contain `mobox`; a call with invalid input has it with its result. */
const METADATA = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"];

/** Mobox's metadata of a part. */
export function moboxOf(part: Part): Fields {
  const fields = part as unknown as Fields;
  const value = METADATA.map((name) => fieldsOf(fields[name]).mobox).find(isFields);
  return value ?? {};
}

/** The data of a `data-*` part. */
export const dataOf = (part: Part): Fields => fieldsOf((part as { data?: unknown }).data);

/** The calls that spawned the part's agent, outermost first; empty for the root agent. */
export function scopeOf(part: Part): string[] {
  const value = part.type.startsWith("data-") ? dataOf(part).scope : moboxOf(part).scope;
  return listOf(value).filter((id) => typeof id === "string");
}

/** The agent's own id of a call: on the wire it is prefixed with its message's id. */
export const ownId = (messageId: string, wire: string): string =>
  wire.startsWith(`${messageId}:`) ? wire.slice(messageId.length + 1) : wire;

/** The id of a part, for the open state and for retractions. */
export function idOf(part: Part): string | undefined {
  const fields = part as unknown as Fields;
  return textOf(moboxOf(part).id) ?? textOf(fields.toolCallId) ?? textOf(fields.id);
}

/** The ids of a part, its own first; a part without an id uses its type. */
export const namesOf = (part: Part): string[] => [
  idOf(part) ?? textOf((part as unknown as Fields).sourceId) ?? part.type,
];

/** The type of the part at the end of a run. */
export const END = "finish";

/** How a run ended. */
export interface Ending {
  reason: string;
  /** The error, if it failed. */
  error?: string;
  /** The code of that error. */
  code?: string;
}

const FAILURES = new Set(["error", "lost"]);

/** Whether a run failed. */
export const hasFailed = (ending: Ending | undefined): boolean =>
  ending !== undefined && (ending.error !== undefined || FAILURES.has(ending.reason));

/** The ending of a message's run; undefined while it runs or waits. */
export function endingOf(message: UIMessage | undefined): Ending | undefined {
  const value = fieldsOf(message?.metadata);
  const reason = textOf(value.reason);
  const error = textOf(value.error);
  const code = textOf(value.errorCode);
  if (reason === undefined) return undefined;
  return { reason, ...(error !== undefined && { error }), ...(code !== undefined && { code }) };
}
