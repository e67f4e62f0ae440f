import type { Entry, Event } from "@/inspector/entries";
import type { Span, SpanStatus, Timeline } from "@/inspector/timeline/spans";
import { SpanTree } from "@/inspector/timeline/tree";
import { spentOf, UsageBook } from "@/inspector/timeline/usage";
import { textOf as anyTextOf, fieldsOf } from "@/json";

/** Ends of a run that are failures, or interruptions. */
const ENDINGS: Readonly<Record<string, SpanStatus>> = {
  error: "error",
  lost: "error",
  truncated: "error",
  cancelled: "interrupted",
  interrupted: "interrupted",
};
const STATUSES: ReadonlySet<unknown> = new Set(["ok", "error", "denied", "interrupted", "unknown"]);

const textOf = (value: unknown): string | undefined => anyTextOf(value) || undefined;
const statusOf = (value: unknown): SpanStatus =>
  STATUSES.has(value) ? (value as SpanStatus) : "ok";

/**
 * Builds the spans of a run, entry by entry: a live run adds to what is there.
 *
 * Rule 1: an end without a start is left out; what never ends, ends with the run.
 * Rule 2: a subagent and the tool call that started it are one span.
 * Rule 3: a parent is known before its children: a scope that names nothing belongs to the run.
 */
export class TimelineBuilder {
  /** The number of entries read. */
  read = 0;
  readonly #tree = new SpanTree();
  readonly #usage = new UsageBook();

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const event = fieldsOf(entry.event) as Event;
      this.#tree.moveTo(entry.seq, entry.ts);
      if (Object.hasOwn(HANDLERS, event.type))
        HANDLERS[event.type]?.(this.#tree, event, this.#usage);
      this.read++;
    }
  }

  /** The spans so far; what is open ends `now`, in milliseconds of the server's clock. */
  snapshot(now?: number): Timeline {
    return this.#tree.snapshot(this.#usage, now);
  }
}

export function timelineOf(entries: readonly Entry[], now?: number): Timeline {
  const builder = new TimelineBuilder();
  builder.add(entries);
  return builder.snapshot(now);
}

type Handler = (tree: SpanTree, event: Event, usage: UsageBook) => void;

const block =
  (kind: "thought" | "answer"): Handler =>
  (tree, event) => {
    tree.open(kind, event);
  };
const more =
  (kind: "thought" | "answer" | "tool"): Handler =>
  (tree, event) => {
    tree.touch(tree.find(kind, event));
  };
const end =
  (kind: "thought" | "answer" | "turn"): Handler =>
  (tree, event) => {
    tree.close(tree.find(kind, event), event.interrupted ? "interrupted" : statusOf(event.status));
  };

function openTool(tree: SpanTree, event: Event): void {
  const known = tree.find("tool", event);
  const span = known?.status === "running" ? known : tree.open("tool", event);
  span.name = textOf(event.name) ?? span.name;
  span.input = event.input ?? span.input;
}

function endTool(tree: SpanTree, event: Event): void {
  const span = tree.find("tool", event);
  if (!span) return;
  span.output = event.output ?? span.output;
  if (event.partial) tree.touch(span);
  else tree.close(span, statusOf(event.status));
}

function openStep(tree: SpanTree, event: Event): void {
  const isTurn = (event.kind ?? "turn") === "turn";
  const span = tree.open("turn", event);
  span.kind = isTurn ? "turn" : "step";
  span.name = textOf(event.name) ?? (isTurn ? "" : (textOf(event.kind) ?? ""));
  if (isTurn && typeof event.number === "number") span.number = event.number;
}

function openSubagent(tree: SpanTree, event: Event): void {
  const span = tree.find("tool", event) ?? tree.open("tool", event);
  span.kind = "subagent";
  span.name = textOf(event.agent) ?? span.name;
  span.input = event.task ?? span.input;
  tree.touch(span);
}

function endSubagent(tree: SpanTree, event: Event): void {
  const span = tree.find("tool", event);
  if (!span) return;
  span.output ??= event.summary;
  tree.close(span, statusOf(event.status));
}

function openWait(tree: SpanTree, event: Event): void {
  const call = textOf(event.tool_call_id);
  const span = tree.open(
    "wait",
    event,
    call ? tree.find("tool", { ...event, id: call }) : undefined,
  );
  span.name = textOf(event.kind) ?? "";
  span.input = event.prompt;
}

function endWait(tree: SpanTree, event: Event): void {
  const span = tree.find("wait", event);
  if (!span) return;
  span.output = event.value ?? event.decision;
  tree.close(span, event.decision === "denied" ? "denied" : "ok");
}

function use(tree: SpanTree, event: Event, usage: UsageBook): void {
  const execution = textOf(event.execution) ?? "";
  if (event.per === "run") usage.report(execution, spentOf(event));
  else usage.set(`${event.id ?? ""} ${event.scope ?? ""}`, tree.spender(event), spentOf(event));
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  start: (tree, event) => {
    tree.root.name = textOf(event.agent) ?? textOf(event.framework) ?? "";
  },
  thinking: block("thought"),
  thinking_delta: more("thought"),
  thinking_end: end("thought"),
  text: block("answer"),
  text_delta: more("answer"),
  text_end: end("answer"),
  tool_use_start: openTool,
  tool_use_delta: more("tool"),
  tool_use_end: (tree, event) => {
    const span = tree.find("tool", event);
    if (span) span.input = event.input ?? event.invalid ?? span.input;
    tree.touch(span);
  },
  tool_result: endTool,
  step_start: openStep,
  step_end: end("turn"),
  subagent_start: openSubagent,
  subagent_end: endSubagent,
  input_request: openWait,
  input_response: endWait,
  usage: use,
  result: (_, event, usage) => {
    const { cost } = spentOf(event);
    if (cost !== undefined) usage.price(textOf(event.execution) ?? "", cost);
  },
  retract: (tree, event) => {
    if (!Array.isArray(event.blocks)) return;
    for (const id of event.blocks.filter((each) => typeof each === "string"))
      for (const kind of ["thought", "answer", "tool"] as const) {
        const span: Span | undefined = tree.find(kind, { ...event, id });
        if (span?.status === "running" || span?.status === "ok") tree.close(span, "interrupted");
      }
  },
  error: (tree, event) => {
    tree.root.output = event.message;
  },
  done: (tree, event) => tree.finish(ENDINGS[String(event.reason)] ?? "ok"),
};
