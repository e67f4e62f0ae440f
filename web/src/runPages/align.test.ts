import { expect, it } from "vitest";
import type { Span } from "@/inspector/timeline/spans";
import { alignedSteps, type Pair } from "@/runPages/align";

let keys = 0;

function step(name: string, ...children: Span[]): Span {
  const base = { key: `k${++keys}`, kind: "tool", name, status: "ok", first: 1, last: 1 } as const;
  return { ...base, from: 0, to: 1, children };
}
const drawn = (pairs: Pair[]) =>
  pairs.map(({ level, first, second }) => `${level} ${first?.name ?? "-"} ${second?.name ?? "-"}`);

it("pairs steps of the same name in order, and leaves gaps for the rest", () => {
  const first = step("run", step("plan"), step("search"), step("search"), step("write"));
  const second = step("run", step("search"), step("read"), step("search"), step("write"));
  expect(drawn(alignedSteps(first, second))).toEqual([
    "1 run run",
    "2 plan -",
    "2 search search",
    "2 - read",
    "2 search search",
    "2 write write",
  ]);
});

it("pairs what is below paired steps, and keeps what is below others with them", () => {
  const first = step("run", step("agent", step("a"), step("b")), step("old", step("x")));
  const second = step("run", step("agent", step("b")), step("new", step("x")));
  expect(drawn(alignedSteps(first, second))).toEqual([
    "1 run run",
    "2 agent agent",
    "3 a -",
    "3 b b",
    "2 old -",
    "3 x -",
    "2 - new",
    "3 - x",
  ]);
});

it("has every step of both once, also of very long runs", () => {
  const many = (count: number) =>
    step("run", ...Array.from({ length: count }, (_, n) => step(`s${n % 3}`)));
  for (const [one, other] of [
    [0, 3],
    [40, 25],
    [900, 700],
  ] as const) {
    const pairs = alignedSteps(many(one), many(other));
    expect(pairs.filter(({ first }) => first)).toHaveLength(one + 1);
    expect(pairs.filter(({ second }) => second)).toHaveLength(other + 1);
  }
});
