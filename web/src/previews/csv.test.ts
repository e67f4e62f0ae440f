import { expect, test } from "vitest";
import { MOST_COLUMNS, MOST_ROWS, readTable } from "@/previews/csv";

test.each([
  [
    "a,b\n1,2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    'a,b\r\n"x, y","say ""hi"""\r\n',
    [
      ["a", "b"],
      ["x, y", 'say "hi"'],
    ],
  ],
  ['a\n"two\nlines"\n', [["a"], ["two\nlines"]]],
  [
    "a\tb\n1\t2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a;b\n1,5;2",
    [
      ["a", "b"],
      ["1,5", "2"],
    ],
  ],
  ["\ufeffa,b\n\n1,\n", [["a", "b"], ["1"]]],
  ['"never closed', [["never closed"]]],
  [
    'a,b\n"x" ,y\n1,2',
    [
      ["a", "b"],
      ["x", "y"],
      ["1", "2"],
    ],
  ],
  ["", []],
])("%j is read", (text, rows) => {
  const read = readTable(text).rows.map((row) => row.filter((cell, at) => cell || at === 0));
  expect(read).toEqual(rows);
});

test("an empty cell keeps its place", () => {
  expect(readTable("a,b,c\n1,,3").rows[1]).toEqual(["1", "", "3"]);
});

test("a large table is cut", () => {
  const wide = Array(MOST_COLUMNS + 5)
    .fill("x")
    .join(",");
  const { rows, isCut } = readTable(`${wide}\n`.repeat(MOST_ROWS + 5));
  expect([rows.length, rows[0]?.length, isCut]).toEqual([MOST_ROWS, MOST_COLUMNS, true]);
  expect(readTable("a\n".repeat(10)).isCut).toBe(false);
});

test("a million lines are cut", () => {
  const { rows, isCut } = readTable("a,b\n".repeat(1_000_000));
  expect([rows.length, isCut]).toEqual([MOST_ROWS, true]);
});
