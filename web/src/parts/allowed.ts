/** The decisions that the agent allows, from the request's `allowed`. */
import type { Answer } from "@/api";
import { listOf } from "@/json";

export type Allowed = "approve" | "edit" | "respond" | "reject";

const ALL: readonly Allowed[] = ["approve", "edit", "respond", "reject"];
const USUAL: readonly Allowed[] = ["approve", "reject"];

/** In display order; approve and reject by default. */
export function allowedOf(value: unknown): readonly Allowed[] {
  const listed = listOf(value);
  const known = ALL.filter((word) => listed.includes(word));
  return known.length > 0 ? known : USUAL;
}

/** A decision, with the changed input or the answer as its value, or with the reason for it. */
export type Reply = Omit<Answer, "requestId">;
