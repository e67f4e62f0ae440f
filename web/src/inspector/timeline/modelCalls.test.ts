import { expect, it } from "vitest";
import type { ModelCall } from "@/api";
import type { Entry, Event } from "@/inspector/entries";
import { timelineOf } from "@/inspector/timeline/building";
import { withModelCalls } from "@/inspector/timeline/modelCalls";

const log = (...told: [number, Event][]): Entry[] =>
  told.map(([ts, event], at) => {
    const rest = { lines: [], frames: {}, endings: {}, waits: false };
    return { seq: at + 1, id: at + 1, ts: 5_000 + ts, event, ...rest };
  });
const call = (n: number, startedAt: number, more: Partial<ModelCall> = {}): ModelCall => {
  const sizes = { durationMs: 10, requestSize: 1, responseSize: 1, cut: false };
  const where = { provider: "anthropic", method: "POST", path: "/v1/messages", model: "m" };
  return { n, startedAt, status: 200, ...sizes, ...where, ...more };
};
const LOG = log(
  [0, { type: "start" }],
  [10, { type: "step_start", id: "t" }],
  [90, { type: "step_end", id: "t" }],
  [100, { type: "done", reason: "stop" }],
);

it("puts calls below the step that they are in, in their order", () => {
  const before = timelineOf(LOG);
  const { root, spans } = withModelCalls(before, [
    call(2, 5_060, { status: 500 }),
    call(1, 5_020),
    call(3, 5_095, { model: "", cut: true }),
  ]);
  const [turn, last] = root.children;
  expect(
    turn?.children.map(({ key, name, from, to, status }) => [key, name, from, to, status]),
  ).toEqual([
    ["model 1", "m", 20, 30, "ok"],
    ["model 2", "m", 60, 70, "error"],
  ]);
  expect([last?.name, last?.status]).toEqual(["anthropic", "interrupted"]);
  expect(spans).toHaveLength(before.spans.length + 3);
  expect(before.root.children).toHaveLength(1);
});

it("leaves out calls whose time is not known", () => {
  const before = timelineOf(LOG);
  expect(withModelCalls(before, [call(1, 0)]).spans).toHaveLength(before.spans.length);
  expect(withModelCalls(before, [])).toBe(before);
});
