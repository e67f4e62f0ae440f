import { expect, test } from "vitest";
import { FORMULA, kindOf, shown, texOf, withFormulas, withSources } from "@/content/formulas";

const found = (text: string, streaming = false) =>
  [...withFormulas(text, streaming).matchAll(FORMULA)].map(([, mark, hidden = ""]) => [
    kindOf(mark),
    hidden && texOf(shown(hidden)),
  ]);

test.each([
  ["$x$", "x"],
  ["Let $n$th and $a_1*b_2*c$ be", "n", "a_1*b_2*c"],
  ["$ \\alpha $", "\\alpha"],
  ["($\\frac{|A \\cap B|}{|A|}$)", "\\frac{|A \\cap B|}{|A|}"],
  ["| $|x|$ | b |", "|x|"],
  ["so \\(a + b\\) and \\(n\\).", "a + b", "n"],
  ["where $$x^2$$ holds", "x^2"],
  ["$\\$5 + x$", "\\$5 + x"],
  ["$100$ of them", "100"],
])("%s has formulas in the line", (text, ...tex) => {
  expect(found(text)).toEqual(tex.map((each) => ["inline", each]));
});

test.each([
  ["$$x^2$$", "x^2"],
  ["Then\n$$\n\\sum_i i\n$$\nwhere", "\\sum_i i"],
  ["\\[\nE = mc^2\n\\]", "E = mc^2"],
  ["- \\[ x \\]", "x"],
  ["> $$\n> a\n> $$", "a"],
])("%j has a formula of its own line", (text, tex) => {
  expect(found(text)).toEqual([["display", tex]]);
});

test.each([
  "It costs $5 and $6.",
  "$5-$6, $5/month to $10/month, **$5** vs **$6**",
  "US$5 or A$6, 5$-6$",
  "$AAPL and $MSFT rose",
  "echo $HOME/$PATH",
  "from ($5) to ($6)",
  "$5 per unit, sold at 3$",
  "`$x$` and ``\\(y\\)``",
  "```\n$$x$$\n```",
  "https://a.example/$x$/y",
  "\\$x\\$ and \\[a link\\](https://a.example) and \\(some words here\\)",
  "an open $$ and $x",
  "$$ $$ \\(\\) \\[ \\]",
  "$a\n\nb$",
])("%s has none", (text) => {
  expect(withFormulas(text)).toBe(text);
});

test("what Markdown reads as code gets its source back", () => {
  const text = "a $x_1$ b \\[y\\] $$z$$";
  expect(withFormulas(text)).not.toContain("$");
  expect(withSources(withFormulas(text))).toBe(text);
});

test.each([
  ["Let $x", "Let "],
  ["Let $", "Let "],
  ["Let \\(a + ", "Let "],
  ["Let \\", "Let "],
  ["Let $a_1 + b", "Let "],
  ["It costs $5", "It costs $5"],
  ["Set $HOME and", "Set $HOME and"],
  ["`$x", "`$x"],
])("while %s streams, the page shows %j", (text, seen) => {
  expect(withFormulas(text, true)).toBe(seen);
  expect(withFormulas(text)).toBe(text);
});

test("an unfinished formula of its own line has a place", () => {
  expect(found("So\n\n$$\n\\frac{1", true)).toEqual([["pending", ""]]);
  expect(found("So\n\n\\[ x", true)).toEqual([["pending", ""]]);
});

test("nothing that is shown once is taken back, delta by delta", () => {
  const text = "Let $a_1$ be \\(b\\), then\n\n$$\n\\frac{a}{b}\n$$\n\nand $5 is money.";
  for (let length = 1; length <= text.length; length += 1) {
    const now = withFormulas(text.slice(0, length), true);
    expect(now.replace(FORMULA, "")).not.toMatch(/\\|\$[^5]|\$$/);
  }
});

test.each([
  "$x ",
  "\\[",
  "\\(",
  "$$ ",
  "$$\n\n",
  "\\[ \\(",
  "$a",
])("100,000 times %j takes no time", (piece) => {
  const began = performance.now();
  withFormulas(piece.repeat(100_000), true);
  expect(performance.now() - began).toBeLessThan(2_000);
});
