import type { ModelCall } from "@/api";
import type { Span, Timeline } from "@/inspector/timeline/spans";

const HOLDS_CALLS: ReadonlySet<string> = new Set(["turn", "step", "subagent"]);

/** The timeline with the recorded calls of models, each below the shortest step that it is in. */
export function withModelCalls(timeline: Timeline, calls: readonly ModelCall[]): Timeline {
  const { startedAt } = timeline;
  if (startedAt === undefined || calls.length === 0) return timeline;
  const spans = timeline.spans.map((span) => ({ ...span, children: [...span.children] }));
  const copies = new Map(timeline.spans.map((span, at) => [span.key, spans[at] as Span]));
  for (const span of spans) {
    span.children = span.children.map(({ key }) => copies.get(key) as Span);
    if (span.parent) span.parent = copies.get(span.parent.key);
  }
  const [root] = spans;
  if (!root) return timeline;
  const added = calls
    .filter(({ startedAt: at }) => at > 0)
    .map((call) => addCall(call, call.startedAt - startedAt, spans, root));
  const length = Math.max(timeline.length, ...added.map(({ to }) => to));
  return { ...timeline, root, spans: [...spans, ...added], length };
}

function addCall(call: ModelCall, began: number, spans: readonly Span[], root: Span): Span {
  const from = Math.max(0, began);
  const to = Math.max(from, began + call.durationMs);
  const parent = shortest(spans, from, to) ?? root;
  const span: Span = {
    key: `model ${call.n}`,
    kind: "model",
    name: call.model || call.provider,
    number: call.n,
    status: call.cut ? "interrupted" : call.status >= 400 ? "error" : "ok",
    first: 0,
    last: 0,
    from,
    to,
    parent,
    children: [],
  };
  const at = parent.children.findIndex((child) => child.from > from);
  parent.children.splice(at < 0 ? parent.children.length : at, 0, span);
  return span;
}

function shortest(spans: readonly Span[], from: number, to: number): Span | undefined {
  let best: Span | undefined;
  for (const span of spans) {
    const holds = HOLDS_CALLS.has(span.kind) && span.from <= from && to <= span.to;
    if (holds && (!best || span.to - span.from < best.to - best.from)) best = span;
  }
  return best;
}
