/** The tokens of an answer or of a chat, as rows of a table. */
import type { RunFacts, TokenCounts } from "@/api";
import { numberOf } from "@/json";
import { locale } from "@/language";
import { duration } from "@/parts/durations";
import { type AnswerUsage, money } from "@/parts/usage";
import { strings } from "@/strings";

const words = strings.answers;

export interface UsageRow {
  name: string;
  value: string;
  /** It is a part of the row before. */
  isPart?: boolean;
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
