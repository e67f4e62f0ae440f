/** Formats the usage of an answer. */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, numberOf } from "@/json";
import { duration } from "@/parts/durations";
import { dataOf } from "@/parts/wire";
import { strings } from "@/strings";

const words = strings.parts;

interface UsageText {
  /** The line: a simulated model, tokens, cost, duration. */
  line: string;
  /** Further details. */
  more: string;
}

/** `undefined` if nothing is known. During the run, the usage so far. */
export function usageOf(message: UIMessage): UsageText | undefined {
  const metadata = fieldsOf(message.metadata);
  const part = message.parts.findLast((each) => each.type === "data-usage");
  const usage: Fields = { ...(part && dataOf(part)), ...fieldsOf(metadata.usage) };
  // The server measured the whole run, the agent only its own part.
  const ms = numberOf(metadata.durationMs) ?? numberOf(usage.durationMs);
  const tokensIn = formatted(usage.inputTokens, words.tokensIn);
  const isSimulated = metadata.simulated === true;
  const line = join([
    isSimulated ? strings.models.simulated : undefined,
    tokensIn,
    formatted(usage.outputTokens, tokensIn ? words.tokensOut : words.tokensOnlyOut),
    isSimulated ? undefined : money(numberOf(usage.costUsd)), // an SDK's estimate: nobody was paid
    formatted(ms, duration),
  ]);
  const more = join([
    formatted(usage.cachedInputTokens, words.cacheRead),
    formatted(usage.cacheWriteTokens, words.cacheWrite),
    formatted(usage.reasoningTokens, words.reasoningTokens),
    formatted(usage.numTurns, words.turns),
  ]);
  return line === "" ? undefined : { line, more };
}

const join = (texts: (string | undefined)[]) => texts.filter(Boolean).join(" · ");

function formatted(value: unknown, format: (count: number) => string): string | undefined {
  const known = numberOf(value);
  return known === undefined ? undefined : format(known);
}

/** Small amounts are exact: most answers cost less than a cent. */
export function money(dollars: number | undefined): string | undefined {
  if (dollars === undefined) return undefined;
  const amount = dollars.toFixed(dollars >= 1 || dollars === 0 ? 2 : 4);
  return strings.inspecting.timeline.dollars(amount);
}
