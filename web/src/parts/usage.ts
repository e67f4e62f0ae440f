/** The tokens, the cost and the duration of an answer. */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, numberOf } from "@/json";
import { duration } from "@/parts/durations";
import { dataOf } from "@/parts/wire";
import { strings } from "@/strings";

const words = strings.parts;

/** What is known about an answer: by the stream, and by the server when the run has ended. */
export interface AnswerUsage {
  counts: Fields;
  ms?: number;
  turns?: number;
  isSimulated: boolean;
}

export function usageOfAnswer(message: UIMessage): AnswerUsage {
  const metadata = fieldsOf(message.metadata);
  const part = message.parts.findLast((each) => each.type === "data-usage");
  const counts: Fields = { ...(part && dataOf(part)), ...fieldsOf(metadata.usage) };
  return {
    counts,
    // The server measured the whole run, the agent only its own part.
    ms: numberOf(metadata.durationMs) ?? numberOf(counts.durationMs),
    turns: numberOf(counts.numTurns),
    isSimulated: metadata.simulated === true,
  };
}

/** Tokens, cost and duration in a line; empty if nothing is known. */
export function usageLine({ counts, ms, isSimulated }: AnswerUsage): string {
  const input = numberOf(counts.inputTokens);
  const output = numberOf(counts.outputTokens);
  return [
    input === undefined ? undefined : words.tokensIn(input),
    output === undefined
      ? undefined
      : (input === undefined ? words.tokensOnlyOut : words.tokensOut)(output),
    isSimulated ? undefined : money(numberOf(counts.costUsd)), // an SDK's estimate: nobody was paid
    ms === undefined ? undefined : duration(ms),
  ]
    .filter(Boolean)
    .join(strings.activity.between);
}

/** Small amounts are exact: most answers cost less than a cent. */
export function money(dollars: number | undefined): string | undefined {
  if (dollars === undefined) return undefined;
  const amount = dollars.toFixed(dollars >= 1 || dollars === 0 ? 2 : 4);
  return strings.inspecting.timeline.dollars(amount);
}
