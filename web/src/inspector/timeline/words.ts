import type { Span, Spent } from "@/inspector/timeline/spans";
import { span as lasting } from "@/inspector/times";
import { money } from "@/parts/usage";
import { strings } from "@/strings";

const words = strings.inspecting.timeline;

/** The name of a step: its own, or that of its kind. */
export function nameOf({ kind, name, number }: Span): string {
  if (name) return name;
  return kind === "turn" && number !== undefined ? words.turn(number) : words.kinds[kind];
}

/** A length of time, or a number of events where a log has no times. */
export const lengthText = (length: number, timed: boolean): string =>
  timed ? lasting(Math.round(length)) : words.eventCount(length);

export const placeText = (place: number, timed: boolean): string =>
  timed ? lasting(Math.round(place)) : words.eventNumber(Math.round(place) + 1);

export const costText = (cost: number | undefined): string => money(cost) ?? "";

export const tokensOf = (spent: Spent | undefined): number =>
  spent ? spent.input + spent.output : 0;

/** A row as one sentence, for screen readers. */
export function sentenceOf(span: Span, timed: boolean): string {
  const tokens = tokensOf(span.total);
  const kind = span.name ? words.kinds[span.kind] : "";
  const facts = [
    kind,
    words.states[span.status],
    words.lasts(lengthText(span.to - span.from, timed)),
    words.at(placeText(span.from, timed)),
    tokens ? words.tokenCount(tokens) : "",
    costText(span.total?.cost),
  ];
  return words.row(nameOf(span), facts.filter(Boolean));
}
