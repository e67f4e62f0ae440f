import { expect, it } from "vitest";
import type { Entry } from "@/inspector/entries";
import { LONGEST, playedAt, scheduleOf } from "@/inspector/play/schedule";

const log = (...times: (number | null)[]): Entry[] =>
  times.map((ts, at) => ({
    seq: at + 1,
    id: at + 1,
    ts,
    event: { type: "status" },
    lines: [],
    frames: {},
    endings: {},
    waits: false,
  }));

it("plays events as they were recorded, and shortens long pauses", () => {
  const { times, gaps } = scheduleOf(log(5_000, 5_100, 5_100, 65_100, 65_200));
  expect(times).toEqual([0, 100, 100, 100 + LONGEST, 200 + LONGEST]);
  expect([...gaps]).toEqual([[3, 60_000]]);
});

it("plays logs without times, and clocks that go back", () => {
  expect(scheduleOf(log(null, null, null)).times).toEqual([40, 80, 120]);
  expect(scheduleOf(log(100, 50, 70)).times).toEqual([0, 0, 20]);
});

it("knows how many entries were played by when", () => {
  const schedule = scheduleOf(log(0, 100, 100, 300));
  expect([0, 99, 100, 299, 300, 9_999].map((at) => playedAt(schedule, at))).toEqual([
    1, 1, 3, 3, 4, 4,
  ]);
  expect(playedAt(scheduleOf([]), 5)).toBe(1);
});
