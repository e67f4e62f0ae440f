import type { Event } from "@/inspector/entries";
import { addSpent, type Span, type Spent } from "@/inspector/timeline/spans";
import { numberOf } from "@/json";

const count = (value: unknown): number => Math.max(0, numberOf(value) ?? 0);

/** The tokens and the cost of an event. */
export function spentOf(event: Event): Spent {
  const cost = numberOf(event.cost_usd);
  return { input: count(event.input), output: count(event.output), cost };
}

const sum = (all: Iterable<Spent>): Spent | undefined =>
  [...all].reduce<Spent | undefined>(addSpent, undefined);

/**
 * Tokens and cost, by span. Usage is absolute per id: it replaces what was reported before. A total of the
 * run replaces the sum of its calls, for each execution of the agent.
 */
export class UsageBook {
  readonly #calls = new Map<string, { span: Span; spent: Spent }>();
  readonly #reported = new Map<string, Spent>();
  readonly #prices = new Map<string, number>();

  /** The usage of a call; the span that it was first reported for keeps it. */
  set(id: string, span: Span, spent: Spent): void {
    this.#calls.set(id, { span: this.#calls.get(id)?.span ?? span, spent });
  }

  /** The total of an execution. */
  report(execution: string, spent: Spent): void {
    this.#reported.set(execution, spent);
  }

  /** The cost of an execution, known without its tokens. */
  price(execution: string, cost: number): void {
    this.#prices.set(execution, cost);
  }

  /** What each span spent itself. */
  bySpan(): Map<Span, Spent> {
    const sums = new Map<Span, Spent>();
    for (const { span, spent } of this.#calls.values())
      sums.set(span, addSpent(sums.get(span), spent) ?? spent);
    return sums;
  }

  /** What the run reported of itself, in place of the sum of its calls. */
  totalOr(calls: Spent | undefined): Spent | undefined {
    const total = sum(this.#reported.values()) ?? calls;
    const prices = [...this.#prices.values()];
    if (prices.length === 0) return total;
    const cost = prices.reduce((one, other) => one + other, 0);
    return { input: 0, output: 0, ...total, cost };
  }
}
