/** What a person decided, and why, in words: on the page and in what is kept of it. */
import type { Answered } from "@/parts/blocks";
import { strings } from "@/strings";

const words = strings.parts;

const OUTCOMES: Record<string, (reason?: string) => string> = {
  approved: (reason) => (reason ? words.approvedBecause(reason) : words.approved),
  denied: (reason) => (reason ? words.deniedBecause(reason) : words.denied),
  edited: () => words.approvedChanged,
  cancelled: () => words.cancelled,
};

/** What became of a request, unless something was answered. */
export const outcomeOf = ({ decision, reason }: Answered): string | undefined =>
  OUTCOMES[decision]?.(reason);
