/** What the server writes into parts beyond the AI SDK's own words. Nothing here is trusted. */
import type { UIMessage } from "ai";

export type Part = UIMessage["parts"][number];
export type Json = unknown;
export type Fields = Record<string, Json>;

export const isFields = (value: Json): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const fieldsOf = (value: Json): Fields => (isFields(value) ? value : {});
export const textOf = (value: Json): string | undefined =>
  typeof value === "string" ? value : undefined;
export const numberOf = (value: Json): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
export const listOf = (value: Json): Json[] => (Array.isArray(value) ? value : []);

/** Where `mobox` may stand, by the AI SDK's names; a broken input has it with its result. */
const METADATA = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"];

/** What Mobox says of a part. */
export function moboxOf(part: Part): Fields {
  const fields = part as unknown as Fields;
  const told = METADATA.map((name) => fieldsOf(fields[name]).mobox).find(isFields);
  return told ?? {};
}

/** The data of a `data-*` part. */
export const dataOf = (part: Part): Fields => fieldsOf((part as { data?: Json }).data);

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

/** Why the run ended; `undefined` while it goes on or waits for somebody. */
export const reasonOf = (message: UIMessage): string | undefined =>
  textOf(fieldsOf(message.metadata).reason);

/** What went wrong with the run, if it failed. */
export const errorOf = (message: UIMessage): string | undefined =>
  textOf(fieldsOf(message.metadata).error);
