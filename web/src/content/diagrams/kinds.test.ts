import { expect, test } from "vitest";
import { factsOf } from "@/content/diagrams/kinds";
import { parse } from "@/content/diagrams/pie";

test.each([
  ["graph TD\nA-->B", "flowchart", ""],
  ["%% a comment\nflowchart LR\naccTitle: The way\nA-->B", "flowchart", "The way"],
  ["---\ntitle: Steps\n---\nsequenceDiagram\nA->>B: x", "sequence", "Steps"],
  ['pie title Time\n"a": 1', "pie", "Time"],
  ["gantt\n  title Plan\n", "gantt", "Plan"],
  ['xychart-beta\n  title "Sales"\n', "chart", "Sales"],
])("%j is a %s with the title %j", (text, kind, title) => {
  expect(factsOf(text)).toMatchObject({ kind, title });
});

test("the settings of a text are not used", () => {
  const text =
    '---\nconfig:\n  securityLevel: loose\n---\n%%{init: {"theme": "forest"}}%%\ngraph TD\nA';
  expect(factsOf(text)).toMatchObject({ source: "graph TD\nA" });
});

test.each([
  ['A\nclick A href "javascript:x"', "A"],
  ["A\nlink A: x @ javascript:x", "A"],
  ["click --> link", "click --> link"],
  ["A[<b>bold</b>]", "A[bold]"],
  ["A[#lt;b onclick=x#gt; &#x3C;i> &amp;lt;s>]", "A[\u2039b onclick=x#gt; \u2039i> \uff06lt;s>]"],
  ["A[<<b>img x>]", "A[\u2039img x>]"],
  ["A[one<br/>two]", "A[one<br/>two]"],
  ["A[<script>x</script>]", "A[\u2039script>x\u2039/script>]"],
  ["A[<b onclick=x", "A[\u2039b onclick=x"],
  ["A[<<b onclick=x>]", "A[<]"],
  [
    "class A { <<interface>> }\nA <|-- B\nC <--> D",
    "class A { <<interface>> }\nA <|-- B\nC <--> D",
  ],
])("%j is drawn as %j", (text, source) => {
  expect(factsOf(`graph TD\n${text}`)).toMatchObject({ source: `graph TD\n${source}` });
});

test.each([
  ["mindmap\n  root", "unknown"],
  ["nonsense", "unknown"],
  ["constructor", "unknown"],
  ["", "unknown"],
  [`graph TD\n${"A-->B\n".repeat(401)}`, "large"],
  [`graph TD\n${"A;".repeat(401)}`, "large"],
  [`graph TD\nA[${"x".repeat(10_000)}]`, "large"],
  ['graph TD\nA@{ img: "https://evil.example/x.png" }', "loads"],
  ["graph TD\nA[<img src=x>]", "loads"],
  ["graph TD\nA\nstyle A fill:url(https://evil.example)", "loads"],
])("%.40j is not drawn: %s", (text, why) => {
  expect(factsOf(text)).toBe(why);
});

test("a pie is read", async () => {
  const text =
    "pie showData title Pets\n  accDescr: All of them\n  \"Dogs\" : 386\n  'Cats': 8.5\n";
  expect(await parse("pie", text)).toEqual({
    $type: "Pie",
    showData: true,
    title: "Pets",
    accDescr: "All of them",
    sections: [
      { $type: "PieSection", label: "Dogs", value: 386 },
      { $type: "PieSection", label: "Cats", value: 8.5 },
    ],
  });
  await expect(parse("pie", "pie\nDogs 3")).rejects.toThrow("not a slice");
  await expect(parse("info", "info")).rejects.toThrow("no parser");
});
