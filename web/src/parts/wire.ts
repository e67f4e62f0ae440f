/** What the server writes into parts beyond the AI SDK's own words. Nothing here is trusted. */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "@/json";

export type Part = UIMessage["parts"][number];

/** Where `mobox` may stand, by the AI SDK's names; a broken input has it with its result. */
const METADATA = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"];

/** What Mobox says of a part. */
export function moboxOf(part: Part): Fields {
  const fields = part as unknown as Fields;
  const told = METADATA.map((name) => fieldsOf(fields[name]).mobox).find(isFields);
  return told ?? {};
}

/** The data of a `data-*` part. */
export const dataOf = (part: Part): Fields => fieldsOf((part as { data?: unknown }).data);

/** The calls that spawned the agent who speaks, outermost first; empty for the root agent. */
export function scopeOf(part: Part): string[] {
  const told = part.type.startsWith("data-") ? dataOf(part).scope : moboxOf(part).scope;
  return listOf(told).filter((id) => typeof id === "string");
}

/** The name of a part that a person may have folded, or that may be taken back. */
export function idOf(part: Part): string | undefined {
  const fields = part as unknown as Fields;
  return textOf(moboxOf(part).id) ?? textOf(fields.toolCallId) ?? textOf(fields.id);
}

/** The names by which a part is known, first of all its own; one that has none goes by its type. */
export const namesOf = (part: Part): string[] => [
  idOf(part) ?? textOf((part as unknown as Fields).sourceId) ?? part.type,
];

/** The name of what says that a run is over. */
export const END = "finish";

/** How a run ended. */
export interface Ending {
  reason: string;
  /** What went wrong, if it failed. */
  error?: string;
}

/** What the server writes about a message when its run is over; nothing while it goes on or waits. */
export function endingOf(message: UIMessage | undefined): Ending | undefined {
  const told = fieldsOf(message?.metadata);
  const reason = textOf(told.reason);
  const error = textOf(told.error);
  return reason === undefined ? undefined : { reason, ...(error !== undefined && { error }) };
}
