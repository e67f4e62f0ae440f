import { expect, it } from "vitest";
import type { Entry, Event } from "@/inspector/entries";
import { TimelineBuilder, timelineOf } from "@/inspector/timeline/building";
import { figuresOf } from "@/inspector/timeline/figures";
import { mostAtOnce, type Span, waitedIn } from "@/inspector/timeline/spans";

type Told = [ms: number | null, event: Record<string, unknown>];

const log = (...told: Told[]): Entry[] =>
  told.map(([ms, event], at) => ({
    seq: at + 1,
    id: at + 1,
    ts: ms === null ? null : 1_700_000_000_000 + ms,
    event: event as Event,
    lines: [],
    frames: {},
    endings: {},
    waits: false,
  }));

/** The tree as lines: depth, kind, name, status, from and to. */
function drawn(span: Span, depth = 0): string[] {
  const line = `${"  ".repeat(depth)}${span.kind} ${span.name} ${span.status} ${span.from}-${span.to}`;
  return [line, ...span.children.flatMap((child) => drawn(child, depth + 1))];
}
const draw = (...told: Told[]) => drawn(timelineOf(log(...told)).root);

const RUN = { type: "start", framework: "f", agent: "Ann" };
const DONE = { type: "done", reason: "stop" };

it("puts blocks and tools below the turn that they are in", () => {
  expect(
    draw(
      [0, RUN],
      [10, { type: "step_start", id: "t1", number: 1 }],
      [20, { type: "thinking", id: "a" }],
      [50, { type: "thinking_delta", id: "a", delta: "x" }],
      [60, { type: "thinking_end", id: "a" }],
      [70, { type: "tool_use_start", id: "c", name: "bash" }],
      [80, { type: "step_end", id: "t1" }],
      [200, { type: "tool_result", id: "c", output: "no", status: "error" }],
      [210, { type: "step_start", id: "t2", number: 2 }],
      [220, { type: "text", id: "b" }],
      [300, { type: "text_end", id: "b" }],
      [300, { type: "step_end", id: "t2" }],
      [310, DONE],
    ),
  ).toEqual([
    "run Ann ok 0-310",
    "  turn  ok 10-200",
    "    thought  ok 20-60",
    "    tool bash error 70-200",
    "  turn  ok 210-300",
    "    answer  ok 220-300",
  ]);
});

it("makes one span of a subagent and the call that started it, with its work below", () => {
  const drawing = draw(
    [0, RUN],
    [1, { type: "tool_use_start", id: "a", name: "task" }],
    [2, { type: "tool_use_start", id: "b", name: "task" }],
    [3, { type: "subagent_start", id: "a", agent: "reader" }],
    [4, { type: "subagent_start", id: "b", agent: "writer" }],
    [5, { type: "tool_use_start", id: "s", name: "search", scope: ["a"] }],
    [40, { type: "tool_result", id: "s", scope: ["a"] }],
    [50, { type: "subagent_end", id: "a" }],
    [51, { type: "tool_result", id: "a", output: "read" }],
    [60, { type: "tool_result", id: "b", output: "written" }],
    [61, DONE],
  );
  expect(drawing).toEqual([
    "run Ann ok 0-61",
    "  subagent reader ok 1-51",
    "    tool search ok 5-40",
    "  subagent writer ok 2-60",
  ]);
});

it("knows what was at work at the same time", () => {
  const { spans } = timelineOf(
    log(
      [0, { type: "tool_use_start", id: "a", name: "x" }],
      [1, { type: "tool_use_start", id: "b", name: "x" }],
      [5, { type: "tool_result", id: "a" }],
      [5, { type: "tool_use_start", id: "c", name: "x" }],
      [9, { type: "tool_result", id: "b" }],
      [9, { type: "tool_result", id: "c" }],
    ),
  );
  expect(mostAtOnce(spans)).toBe(2);
});

it("shows the wait for a person below the call that it is about", () => {
  const told: Told[] = [
    [0, RUN],
    [1, { type: "tool_use_start", id: "c", name: "rm" }],
    [2, { type: "input_request", id: "q", kind: "approval", tool_call_id: "c" }],
    [2, { type: "paused", request_ids: ["q"] }],
    [5_000, { type: "input_response", id: "q", decision: "denied" }],
    [5_001, { type: "tool_result", id: "c", status: "denied" }],
    [5_002, DONE],
  ];
  expect(draw(...told)).toEqual([
    "run Ann ok 0-5002",
    "  tool rm denied 1-5001",
    "    wait approval denied 2-5000",
  ]);
  expect(waitedIn(timelineOf(log(...told)).spans)).toBe(4_998);
});

it("counts tokens once, where they were spent, and adds them up", () => {
  const { root } = timelineOf(
    log(
      [0, RUN],
      [1, { type: "step_start", id: "t1" }],
      [2, { type: "usage", id: "t1", input: 100, output: 1 }],
      [3, { type: "usage", id: "t1", input: 100, output: 20, cost_usd: 0.5 }],
      [4, { type: "subagent_start", id: "a", agent: "x" }],
      [5, { type: "usage", id: "u", scope: ["a"], input: 7, output: 3 }],
      [6, { type: "subagent_end", id: "a" }],
      [7, { type: "step_end", id: "t1" }],
    ),
  );
  const [turn] = root.children;
  expect(turn?.own).toEqual({ input: 100, output: 20, cost: 0.5 });
  expect(turn?.total).toEqual({ input: 107, output: 23, cost: 0.5 });
  expect(turn?.children[0]?.total).toEqual({ input: 7, output: 3 });
  expect(root.total).toEqual({ input: 107, output: 23, cost: 0.5 });
});

it("takes the run's own total over the sum, and adds executions up", () => {
  const { root } = timelineOf(
    log(
      [0, { type: "usage", id: "a", input: 5, output: 5 }],
      [1, { type: "usage", per: "run", input: 10, output: 6 }],
      [2, { type: "result", cost_usd: 0.25 }],
      [3, { type: "usage", per: "run", input: 1, output: 1, execution: "2" }],
      [4, { type: "result", cost_usd: 0.5, execution: "2" }],
    ),
  );
  expect(root.total).toEqual({ input: 11, output: 7, cost: 0.75 });
});

it("lets what is open go on until now, and ends it with the run", () => {
  const told: Told[] = [
    [0, RUN],
    [10, { type: "tool_use_start", id: "c", name: "slow" }],
  ];
  const now = 1_700_000_000_000 + 900;
  expect(drawn(timelineOf(log(...told), now).root)).toEqual([
    "run Ann running 0-900",
    "  tool slow running 10-900",
  ]);
  expect(draw(...told, [950, { type: "done", reason: "cancelled" }])).toEqual([
    "run Ann interrupted 0-950",
    "  tool slow interrupted 10-950",
  ]);
});

it("uses the numbers of entries where a log has no times", () => {
  const { root, timed } = timelineOf(
    log(
      [null, RUN],
      [null, { type: "text", id: "a" }],
      [null, { type: "text_delta", id: "a", delta: "x" }],
      [null, { type: "text_end", id: "a" }],
      [null, DONE],
    ),
  );
  expect(timed).toBe(false);
  expect(drawn(root)).toEqual(["run Ann ok 0-5", "  answer  ok 1-4"]);
});

it("keeps its order when clocks go back", () => {
  expect(
    draw(
      [100, RUN],
      [50, { type: "text", id: "a" }],
      [20, { type: "text_end", id: "a" }],
      [null, { type: "text", id: "b" }],
      [130, DONE],
    ),
  ).toEqual(["run Ann ok 0-30", "  answer  ok 0-0", "  answer  ok 0-30"]);
});

it.each([
  [
    "ends without starts",
    [{ type: "tool_result", id: "x" }, { type: "text_end" }, { type: "step_end" }],
  ],
  ["names of properties", [{ type: "constructor" }, { type: "__proto__", id: "__proto__" }]],
  [
    "wrong types",
    [
      { type: "text", id: 7, scope: "x" },
      { type: "usage", input: "many", output: -3 },
    ],
  ],
  ["no events", [null, 7, "x", [], { type: 3 }, {}]],
  ["an agent inside itself", [{ type: "subagent_start", id: "a", scope: ["a"], agent: "a" }]],
  ["blocks that are no list", [{ type: "retract", blocks: "all" }, { type: "retract" }]],
])("survives %s", (_, events) => {
  const entries = log(...events.map((event, at): Told => [at, event as Record<string, unknown>]));
  const { spans, root } = timelineOf(entries);
  expect(root.last).toBe(entries.length);
  expect(spans.every(({ from, to }) => to >= from)).toBe(true);
});

it("nests as deep as a log likes, and reads thousands of steps at once", () => {
  const told: Told[] = Array.from({ length: 5_000 }, (_, n): Told[] => [
    [n, { type: "subagent_start", id: `a${n}`, agent: "x", scope: n ? [`a${n - 1}`] : [] }],
    [n, { type: "step_start", id: `s${n}`, kind: "node" }],
  ]).flat();
  const { spans } = timelineOf(log(...told));
  expect(spans).toHaveLength(10_001);
});

it("gives the same spans entry by entry as at once", () => {
  const entries = log(
    [0, RUN],
    [1, { type: "thinking", id: "a" }],
    [2, { type: "thinking_end", id: "a" }],
    [3, { type: "retract", blocks: ["a"] }],
    [4, DONE],
  );
  const builder = new TimelineBuilder();
  for (const entry of entries) {
    builder.add([entry]);
    builder.snapshot();
  }
  expect(builder.snapshot()).toEqual(timelineOf(entries));
  expect(builder.snapshot().root.children[0]?.status).toBe("interrupted");
});

it("names the slowest of several tools", () => {
  const told: Told[] = [
    [0, RUN],
    [10, { type: "tool_use_start", id: "a", name: "quick" }],
    [20, { type: "tool_result", id: "a", output: "" }],
    [30, { type: "tool_use_start", id: "b", name: "slow" }],
    [90, { type: "tool_result", id: "b", output: "" }],
    [99, DONE],
  ];
  expect(figuresOf(timelineOf(log(...told))).slowest?.name).toBe("slow");
  const one = told.filter(([, event]) => event.id !== "b");
  expect(figuresOf(timelineOf(log(...one))).slowest).toBeUndefined();
});
