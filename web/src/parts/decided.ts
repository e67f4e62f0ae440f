/** What a person decided, and why, in words: on the page and in what is kept of it. */
import type { RequestBlock } from "@/parts/blocks";
import { strings } from "@/strings";

const words = strings.parts;

export function decided(approved: boolean, reason?: string): string {
  if (approved) return reason ? words.approvedBecause(reason) : words.approved;
  return reason ? words.deniedBecause(reason) : words.denied;
}

const OUTCOMES: Record<string, (reason?: string) => string> = {
  approved: (reason) => decided(true, reason),
  denied: (reason) => decided(false, reason),
  cancelled: () => words.cancelled,
};

/** What became of a request, unless something was answered. */
export const outcomeOf = ({ decision, reason }: NonNullable<RequestBlock["answer"]>) =>
  OUTCOMES[decision]?.(reason);
