import { expect, test } from "vitest";
import { withMarks } from "@/content/citations";

/** The marks as people see them. */
const marked = (text: string, ...after: number[]) =>
  withMarks(
    text,
    after.map((at, index) => ({ number: index + 1, after: at })),
  ).replace(/\u2045\uee91(\d+)\u2046/g, "⟦$1⟧");
const markedAt = (text: string) => marked(text.replace("^", ""), text.indexOf("^"));

test.each([
  ["behind the words", "Water boils.^ It does.", "Water boils.⟦1⟧ It does."],
  ["at the end", "Water boils.^", "Water boils.⟦1⟧"],
  ["before blanks that follow the words", "Water boils.\n\n^Next", "Water boils.⟦1⟧\n\nNext"],
  ["behind a code span, not in it", "Use `a^b` now", "Use `ab`⟦1⟧ now"],
  [
    "behind a link, not in it",
    "See [the ^page](https://a.example/) now",
    "See [the page](https://a.example/)⟦1⟧ now",
  ],
  ["behind an address of a link", "See [x](https://a^.example/)", "See [x](https://a.example/)⟦1⟧"],
  [
    "behind an image in a link",
    "[![a^](b.png)](https://a.example/) x",
    "[![a](b.png)](https://a.example/)⟦1⟧ x",
  ],
  [
    "behind a bare address, with a blank",
    "See https://a.exa^mple/x now",
    "See https://a.example/x ⟦1⟧ now",
  ],
  [
    "behind a bare address that just ended",
    "See https://a.example/x^",
    "See https://a.example/x ⟦1⟧",
  ],
  ["behind a run of emphasis", "So **bold*^* text", "So **bold**⟦1⟧ text"],
  ["not in an entity", "a &am^p; b", "a &amp;⟦1⟧ b"],
  ["not in an escape", "a \\^* b", "a \\*⟦1⟧ b"],
  ["not in a pair of one character", "a \ud83d^\ude00 b", "a \ud83d\ude00⟦1⟧ b"],
  ["not in a placeholder", 'a <<{"a":^1}>> b', 'a <<{"a":1}>>⟦1⟧ b'],
  [
    "in the last cell of a row",
    "| a | b |\n|---|---|\n| 1 | 2 |^",
    "| a | b |\n|---|---|\n| 1 | 2⟦1⟧ |",
  ],
  [
    "in the head of a table, not in its rule",
    "| a | b |\n|---^|---|\n| 1 | 2 |",
    "| a | b⟦1⟧ |\n|---|---|\n| 1 | 2 |",
  ],
  ["before a list, not behind its bullet", "Some:\n\n- ^one", "Some:⟦1⟧\n\n- one"],
  ["before a rule, not behind it", "Text\n\n---\n^Next", "Text⟦1⟧\n\n---\nNext"],
  ["before a heading, not behind its sign", "Text\n\n## ^Head", "Text⟦1⟧\n\n## Head"],
  [
    "before a definition, not in it",
    "Text [r]\n\n[r]: https://a.ex^ample/",
    "Text [r]⟦1⟧\n\n[r]: https://a.example/",
  ],
  [
    "in a paragraph of its own behind a fence",
    "```\nco^de\n```\nText",
    "```\ncode\n```\n\n⟦1⟧\n\nText",
  ],
  [
    "in a paragraph of its own behind a fence that just ended",
    "```\ncode\n```\n^",
    "```\ncode\n```\n\n⟦1⟧\n\n",
  ],
  ["nowhere as long as the fence goes on", "Text\n```\nco^de", "Text\n```\ncode"],
  ["on the first line if nothing is before it", "^- one\n- two", "- one⟦1⟧\n- two"],
])("a mark stands %s", (_, text, expected) => {
  expect(markedAt(text)).toBe(expected);
});

test("marks at one place stand beside each other, and the same one only once", () => {
  const mark = (number: number) => ({ number, after: 4 });
  expect(withMarks("Text", [mark(1), mark(2), mark(1)])).toBe(
    "Text\u2045\uee911\u2046\u2045\uee912\u2046",
  );
});

test("marks beyond the text stand at its end, and sources without a place have none", () => {
  expect(marked("Text", 99)).toBe("Text⟦1⟧");
  expect(withMarks("Text", [{ number: 1 }])).toBe("Text");
});

test("a text cannot write a mark itself, and stays as long as it is", () => {
  const forged = "a\u2045\uee911\u2046b";
  expect(withMarks(forged, [])).toBe("a\u2045\ufffd1\u2046b");
  expect(withMarks(forged, [])).toHaveLength(forged.length);
});

/** So long that quadratic time would exceed the timeout. */
const LONG = " ".repeat(2_000_000);

test.each([
  ["links in a bracket that nothing closes", `[see ${"[a](b) ".repeat(1000)}x`, ""],
  ["blanks before a word", `${LONG}x`, ""],
  ["blanks in a row of a table", `|${LONG}x`, "|"],
])("%s are read once", (_, text, rest) => {
  expect(marked(text + rest, text.length + rest.length)).toBe(`${text}⟦1⟧${rest}`);
});
