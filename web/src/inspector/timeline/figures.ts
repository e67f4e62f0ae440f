import { mostAtOnce, type Span, type Timeline, waitedIn } from "@/inspector/timeline/spans";
import { tokensOf } from "@/inspector/timeline/words";

/** What a run comes to. */
export interface Figures {
  duration: number;
  waited: number;
  turns: number;
  tools: number;
  subagents: number;
  failed: number;
  atOnce: number;
  /** Of several tool calls the one that took the longest. */
  slowest?: Span;
  tokens: number;
  cost?: number;
  events: number;
}

function slowestOf(spans: readonly Span[]): Span | undefined {
  const calls = spans.filter(isTool);
  const slowest = calls.reduce<Span | undefined>(
    (one, other) => (one && one.to - one.from >= other.to - other.from ? one : other),
    undefined,
  );
  return calls.length > 1 ? slowest : undefined;
}

const isTool = ({ kind }: Span) => kind === "tool";

export function figuresOf({ root, spans }: Timeline): Figures {
  const count = (is: (span: Span) => boolean) => spans.filter(is).length;
  return {
    duration: root.to - root.from,
    waited: waitedIn(spans),
    turns: count(({ kind }) => kind === "turn"),
    tools: count(isTool),
    subagents: count(({ kind }) => kind === "subagent"),
    failed: count(({ status, parent }) => status === "error" && parent !== undefined),
    atOnce: mostAtOnce(spans),
    slowest: slowestOf(spans),
    tokens: tokensOf(root.total),
    cost: root.total?.cost,
    events: root.last,
  };
}
