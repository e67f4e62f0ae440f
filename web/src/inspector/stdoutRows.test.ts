import { expect, it } from "vitest";
import type { Entry } from "@/inspector/entries";
import { stdoutRows } from "@/inspector/stdoutRows";

const entry = (seq: number, type: string, delta = ""): Entry => ({
  seq,
  id: seq,
  ts: null,
  event: { type, id: "t", delta },
  lines: [{ n: seq, firstSeq: seq, lastSeq: seq, line: `line ${seq}` }],
  frames: {},
  endings: {},
  waits: false,
});
const LOG = [
  entry(1, "start"),
  entry(2, "text_delta", "so "),
  entry(3, "text_delta", "far"),
  entry(4, "text_end"),
];
const drawn = (open: number[]) =>
  stdoutRows(LOG, new Set(open)).map(({ key, folded, text }) => `${key} ${folded} ${text}`);

it("folds the lines of consecutive deltas into their text", () => {
  expect(drawn([])).toEqual(["1 1 ", "2+ 2 so far", "4 1 "]);
});

it("shows each line of an open row", () => {
  expect(drawn([2])).toEqual(["1 1 ", "2+ 2 so far", "2 1 ", "3 1 ", "4 1 "]);
});
