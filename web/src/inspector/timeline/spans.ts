/** Spans of a run: what took time, as a tree. Made of the log's events; all of them are untrusted. */

export type SpanKind =
  | "run"
  | "turn"
  | "step"
  | "thought"
  | "answer"
  | "tool"
  | "subagent"
  | "wait"
  | "model";

/** `running`: it has no end yet. */
export type SpanStatus = "running" | "ok" | "error" | "denied" | "interrupted" | "unknown";

/** Tokens and cost. */
export interface Spent {
  input: number;
  output: number;
  /** In dollars, if it is known. */
  cost?: number;
}

export interface Span {
  /** Unique in its run, and the same while the run goes on. */
  readonly key: string;
  kind: SpanKind;
  /** The name of a tool, an agent or a step; empty where the kind says it all. */
  name: string;
  /** The number of a turn. */
  number?: number;
  status: SpanStatus;
  /** The first and the last entry of the log about it. */
  first: number;
  last: number;
  /** Milliseconds since the start of the run; without times, numbers of entries. */
  from: number;
  to: number;
  /** What it spent itself. */
  own?: Spent;
  /** With everything below it. */
  total?: Spent;
  input?: unknown;
  output?: unknown;
  parent?: Span;
  children: Span[];
}

export interface Timeline {
  root: Span;
  /** Parents before their children. */
  spans: readonly Span[];
  /** Whether the log has times. */
  timed: boolean;
  /** When the run started, by the server's clock. */
  startedAt?: number;
  /** The end of the last span; at least 1. */
  length: number;
}

export function addSpent(one: Spent | undefined, other: Spent | undefined): Spent | undefined {
  if (!one || !other) return one ?? other;
  const cost =
    one.cost === undefined && other.cost === undefined
      ? undefined
      : (one.cost ?? 0) + (other.cost ?? 0);
  return { input: one.input + other.input, output: one.output + other.output, cost };
}

/** The sum of a run's waits for a person; overlapping ones count once. */
export function waitedIn(spans: readonly Span[]): number {
  let end = 0;
  let waited = 0;
  const waits = spans.filter(({ kind }) => kind === "wait").sort((a, b) => a.from - b.from);
  for (const { from, to } of waits) {
    waited += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return waited;
}

const AT_WORK: ReadonlySet<SpanKind> = new Set(["tool", "subagent"]);

/** How many tools and subagents of one parent were at work at the same time, at most. */
export function mostAtOnce(spans: readonly Span[]): number {
  return spans.reduce((most, { children }) => Math.max(most, overlapping(children)), 0);
}

function overlapping(spans: readonly Span[]): number {
  const changes = spans
    .filter(({ kind, from, to }) => AT_WORK.has(kind) && to > from)
    .flatMap(({ from, to }): [number, number][] => [
      [from, 1],
      [to, -1],
    ])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let now = 0;
  let most = 0;
  for (const [, change] of changes) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}
