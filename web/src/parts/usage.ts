/** Formats the usage of an answer. */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, numberOf } from "@/json";
import { duration } from "@/parts/durations";
import { dataOf } from "@/parts/wire";
import { strings } from "@/strings";

const words = strings.parts;

interface UsageText {
  /** The line: tokens, cost, duration. */
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
  const tokensIn = told(usage.inputTokens, words.tokensIn);
  const line = join([
    tokensIn,
    told(usage.outputTokens, tokensIn ? words.tokensOut : words.tokensOnlyOut),
    money(numberOf(usage.costUsd)),
    told(ms, duration),
  ]);
  const more = join([
    told(usage.cachedInputTokens, words.cacheRead),
    told(usage.cacheWriteTokens, words.cacheWrite),
    told(usage.reasoningTokens, words.reasoningTokens),
    told(usage.numTurns, words.turns),
  ]);
  return line === "" ? undefined : { line, more };
}

const join = (texts: (string | undefined)[]) => texts.filter(Boolean).join(" · ");

function told(value: unknown, say: (count: number) => string): string | undefined {
  const known = numberOf(value);
  return known === undefined ? undefined : say(known);
}

/** Small amounts are exact: most answers cost less than a cent. */
function money(dollars: number | undefined): string | undefined {
  if (dollars === undefined) return undefined;
  return `$${dollars.toFixed(dollars >= 1 || dollars === 0 ? 2 : 4)}`;
}
