import type { Event } from "@/inspector/entries";
import {
  addSpent,
  type Span,
  type SpanKind,
  type SpanStatus,
  type Timeline,
} from "@/inspector/timeline/spans";
import type { UsageBook } from "@/inspector/timeline/usage";

/** Kinds that have ids of their own. A step is found as a turn, a subagent as its tool call. */
type Family = "thought" | "answer" | "tool" | "turn" | "wait";

/** More open steps of one agent are not looked at: only a broken log has so many. */
const MOST_OPEN = 64;

const scopeOf = ({ scope }: Event): readonly string[] => (Array.isArray(scope) ? scope : []);
const scopeKey = (event: Event): string => scopeOf(event).join("\n");
const isStep = ({ kind }: Span): boolean => kind === "turn" || kind === "step";

/** The spans of a run, and what is open. Times are kept as they come, and only ever go forward. */
export class SpanTree {
  readonly root: Span;
  readonly #spans: Span[] = [];
  /** The latest span of each id. */
  readonly #byId = new Map<string, Span>();
  /** The open steps of each agent, innermost last. */
  readonly #steps = new Map<string, Span[]>();
  #seq = 0;
  #start: number | undefined;
  #now = 0;

  constructor() {
    this.root = this.#add("run", "run", undefined);
  }

  /** The entry that is read next. Clocks may go back, times do not. */
  moveTo(seq: number, ts: number | null): void {
    this.#seq = seq;
    if (typeof ts === "number" && Number.isFinite(ts)) {
      this.#start ??= ts;
      this.#now = Math.max(this.#now, ts - this.#start);
    }
    this.touch(this.root);
    if (this.root.first === 0) this.root.first = seq;
  }

  open(kind: Family, event: Event, parent?: Span): Span {
    const id = typeof event.id === "string" ? event.id : "";
    const agent = scopeKey(event);
    const above = parent ?? this.#parentOf(kind, event);
    const span = this.#add(`${kind} ${this.#seq} ${id}`, kind, above);
    this.#byId.set(`${kind} ${id || agent}`, span);
    if (kind === "turn")
      this.#steps.set(agent, [...this.#openSteps(agent).slice(-MOST_OPEN), span]);
    return span;
  }

  /** The latest span of this kind with the event's id; without an id, the latest of its agent. */
  find(kind: Family, event: Event): Span | undefined {
    const id = typeof event.id === "string" ? event.id : "";
    return this.#byId.get(`${kind} ${id || scopeKey(event)}`);
  }

  touch(span: Span | undefined): void {
    if (!span) return;
    span.last = this.#seq;
    span.to = this.#now;
  }

  close(span: Span | undefined, status: SpanStatus): void {
    if (!span) return;
    this.touch(span);
    span.status = status;
  }

  /** The run has ended, and with it what was open. */
  finish(status: SpanStatus): void {
    for (const span of this.#spans)
      if (span.status === "running") this.close(span, status === "ok" ? "ok" : "interrupted");
    this.close(this.root, status);
  }

  /** The span to which an event's usage belongs: its step, else its agent. */
  spender(event: Event): Span {
    const step = this.find("turn", event) ?? this.#openSteps(scopeKey(event)).at(-1);
    return step ?? this.#agentOf(event);
  }

  snapshot(usage: UsageBook, now?: number): Timeline {
    const timed = this.#start !== undefined;
    const present = timed ? Math.max(this.#now, (now ?? 0) - (this.#start ?? 0)) : this.#seq;
    const own = usage.bySpan();
    const spans = this.#spans.map((span) => ({
      ...span,
      own: own.get(span),
      children: [] as Span[],
    }));
    const copies = new Map(this.#spans.map((span, at) => [span, spans[at] as Span]));
    for (const span of spans) {
      if (!timed) [span.from, span.to] = [Math.max(0, span.first - 1), span.last];
      if (span.status === "running") span.to = present;
      span.total = span.own;
      if (span.parent) span.parent = copies.get(span.parent);
      span.parent?.children.push(span);
    }
    const [root = this.root] = spans;
    for (const span of spans.toReversed()) if (span.parent) cover(span.parent, span);
    root.total = usage.totalOr(root.total);
    return { root, spans, timed, startedAt: this.#start, length: Math.max(root.to, 1) };
  }

  #add(key: string, kind: SpanKind, parent: Span | undefined): Span {
    const span: Span = {
      key,
      kind,
      name: "",
      status: "running",
      first: this.#seq,
      last: this.#seq,
      from: this.#now,
      to: this.#now,
      parent,
      children: [],
    };
    this.#spans.push(span);
    return span;
  }

  #openSteps(agent: string): Span[] {
    return (this.#steps.get(agent) ?? []).filter(({ status }) => status === "running");
  }

  /** The subagent that emitted an event; the run, if that is not known. */
  #agentOf(event: Event): Span {
    const known = scopeOf(event).findLast((id) => this.#byId.has(`tool ${id}`));
    return (known !== undefined && this.#byId.get(`tool ${known}`)) || this.root;
  }

  /** The innermost open step of its agent. Turns do not contain turns, nor nodes other nodes. */
  #parentOf(kind: Family, event: Event): Span {
    const open = this.#openSteps(scopeKey(event));
    const isTurn = (event.kind ?? "turn") === "turn";
    const fits = (span: Span) =>
      kind !== "turn" || (isTurn && isStep(span) && span.kind === "step");
    return open.findLast(fits) ?? this.#agentOf(event);
  }
}

/** A parent lasts as long as its children, and spends what they spend. */
function cover(parent: Span, child: Span): void {
  parent.from = Math.min(parent.from, child.from);
  parent.to = Math.max(parent.to, child.to);
  parent.total = addSpent(parent.total, child.total);
}
