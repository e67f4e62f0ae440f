import { expect, it } from "vitest";
import { TREE_KEYS, ticksOf, visibleRows } from "@/inspector/timeline/rows";
import type { Span } from "@/inspector/timeline/spans";

function step(key: string, ...children: Span[]): Span {
  const base = {
    kind: "tool",
    name: key,
    status: "ok",
    first: 1,
    last: 1,
    from: 0,
    to: 1,
  } as const;
  return { key, ...base, children };
}
const TREE = step("run", step("a", step("a1"), step("a2")), step("b"));

it("lists rows in order, with their place, without those below closed ones", () => {
  const drawn = (closed: string[]) =>
    visibleRows(TREE, new Set(closed)).map(
      ({ span, level, place, of }) => `${level} ${span.key} ${place}/${of}`,
    );
  expect(drawn([])).toEqual(["1 run 1/1", "2 a 1/2", "3 a1 1/2", "3 a2 2/2", "2 b 2/2"]);
  expect(drawn(["a"])).toEqual(["1 run 1/1", "2 a 1/2", "2 b 2/2"]);
});

it("nests thousands of levels", () => {
  let deep = step("s0");
  for (let level = 1; level < 20_000; level++) deep = step(`s${level}`, deep);
  expect(visibleRows(deep, new Set())).toHaveLength(20_000);
});

it.each([
  [0, [0]],
  [1, [0]],
  [6, [0, 1, 2, 3, 4, 5]],
  [6_800, [0, 2_000, 4_000, 6_000]],
  [100, [0, 20, 40, 60, 80]],
  [830, [0, 200, 400, 600]],
])("has round numbers on a scale of %d", (length, ticks) => {
  expect(ticksOf(length).length).toBeLessThanOrEqual(7);
  if (length > 0) expect(ticksOf(length)).toEqual(ticks);
});

it("moves as a tree does", () => {
  const rows = visibleRows(TREE, new Set());
  const press = (key: string, index: number, isOpen = true) =>
    TREE_KEYS[key]?.(index, rows, isOpen);
  expect(press("ArrowRight", 1)).toBe(2);
  expect(press("ArrowRight", 1, false)).toBe("open");
  expect(press("ArrowRight", 2)).toBe(2);
  expect(press("ArrowLeft", 1)).toBe("close");
  expect(press("ArrowLeft", 3)).toBe(1);
  expect(press("ArrowLeft", 4)).toBe(0);
  expect(press("End", 0)).toBe(4);
});
