/** The tokens of an answer or of a chat, as rows of a table. */
import type { UIMessage } from "ai";
import type { RunFacts, TokenCounts } from "@/api";
import { type Fields, fieldsOf, numberOf } from "@/json";
import { locale } from "@/language";
import { duration } from "@/parts/durations";
import { money } from "@/parts/usage";
import { dataOf } from "@/parts/wire";
import { strings } from "@/strings";

const words = strings.answers;

export interface UsageRow {
  name: string;
  value: string;
  /** It is a part of the row before. */
  isPart?: boolean;
}

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

/** The line below an answer; empty if nothing is known. */
export function usageLine({ counts, ms, isSimulated }: AnswerUsage): string {
  const input = numberOf(counts.inputTokens);
  const output = numberOf(counts.outputTokens);
  const { tokensIn, tokensOut, tokensOnlyOut } = strings.parts;
  return [
    input === undefined ? undefined : tokensIn(input),
    output === undefined ? undefined : (input === undefined ? tokensOnlyOut : tokensOut)(output),
    isSimulated ? undefined : money(numberOf(counts.costUsd)), // an SDK's estimate: nobody was paid
    ms === undefined ? undefined : duration(ms),
  ]
    .filter(Boolean)
    .join(" · ");
}

export function answerRows(usage: AnswerUsage, run: RunFacts | undefined): UsageRow[] {
  const { ms, turns, isSimulated } = usage;
  const model = run?.simulated || isSimulated ? strings.models.simulated : run?.model;
  return [
    ...row(words.model, run?.model && run.simulated ? `${run.model}, ${model}` : model),
    ...countRows(usage.counts as Partial<TokenCounts>, isSimulated),
    ...row(words.turns, turns?.toLocaleString(locale)),
    ...row(words.duration, ms === undefined ? undefined : duration(ms)),
  ];
}

/** `isFree`: a simulated model, which costs nothing. */
export function countRows(counts: Partial<TokenCounts>, isFree = false): UsageRow[] {
  const known =
    (value: unknown, isPart = false) =>
    (name: string) =>
      row(name, numberOf(value)?.toLocaleString(locale), isPart);
  const cost = money(numberOf(counts.costUsd));
  return [
    ...known(counts.inputTokens)(words.input),
    ...known(counts.cachedInputTokens, true)(words.cacheRead),
    ...known(counts.cacheWriteTokens, true)(words.cacheWrite),
    ...known(counts.outputTokens)(words.output),
    ...known(counts.reasoningTokens, true)(words.reasoning),
    ...row(words.cost, cost && isFree ? words.noCost : cost),
  ];
}

const row = (name: string, value: string | undefined | null, isPart = false): UsageRow[] =>
  value ? [{ name, value, isPart }] : [];

/** How full a model's context is. */
export interface ContextUse {
  used: number;
  window: number;
}

/** `undefined` unless the server knows both. */
export function contextOf(run: RunFacts | undefined): ContextUse | undefined {
  if (!run?.contextTokens || !run.contextWindow) return undefined;
  return { used: run.contextTokens, window: run.contextWindow };
}
