/** The decision and its reason as text, for the page and for exports. */
import type { Answered } from "@/parts/blocks";
import { strings } from "@/strings";

const words = strings.parts;

const OUTCOMES: Record<string, (reason?: string) => string> = {
  approved: (reason) => (reason ? words.approvedBecause(reason) : words.approved),
  denied: (reason) => (reason ? words.deniedBecause(reason) : words.denied),
  edited: () => words.approvedChanged,
  cancelled: () => words.cancelled,
};

/** The outcome of a request without an answer. */
export const outcomeOf = ({ decision, reason, automatic }: Answered): string | undefined =>
  automatic ? words.allowedForChat : OUTCOMES[decision]?.(reason);
