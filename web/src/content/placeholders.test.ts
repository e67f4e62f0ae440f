import { expect, test } from "vitest";
import { segments } from "@/content/placeholders";

const CALL = '<<{"type":"promql","tool_call_id":"call_1"}>>';
const kinds = (text: string, streaming = false) =>
  segments(text, streaming).map((part) => (part.kind === "text" ? part.text : { raw: part.raw }));

test("a placeholder is a chart between two texts", () => {
  expect(segments(`Before ${CALL} after`)).toEqual([
    { at: 0, kind: "text", text: "Before " },
    { at: 7, kind: "chart", raw: CALL, toolCallId: "call_1", title: undefined },
    { at: 7 + CALL.length, kind: "text", text: " after" },
  ]);
});

test("data may stand in the placeholder itself, with the end of a placeholder in a name", () => {
  const raw = '<<{"series":[{"name":"a}>>b","values":[1,2]}]}>>';
  expect(kinds(`${raw} after`)).toEqual([{ raw }, " after"]);
});

test.each([
  ["is of an unknown type", '<<{"type":"map","tool_call_id":"call_1"}>>'],
  ["names no call and has no data", '<<{"type":"promql"}>>'],
  ["is not JSON", "<<{type: promql}>>"],
  ["is never closed", 'a <<{"type":"promql"} b'],
  ["is C++", "std::cout <<{1, 2};"],
  ["stands in a fence", `\`\`\`\n${CALL}\n\`\`\``],
  ["stands in a fence that is not closed", `~~~\n${CALL}`],
  ["stands in a code span", `Write \`${CALL}\` for a chart`],
])("what %s stays text", (_, text) => {
  expect(kinds(text)).toEqual([text]);
});

test("while it comes, no character of a placeholder is ever shown", () => {
  const text = `Before ${CALL}`;
  for (let length = 7; length < text.length; length += 1) {
    expect(kinds(text.slice(0, length), true)).toEqual(["Before "]);
  }
  expect(kinds(text, true)).toEqual(["Before ", { raw: CALL }]);
});

test("what cannot become a placeholder any more is shown at once", () => {
  expect(kinds("cout <<{x", true)).toEqual(["cout <<{x"]);
  expect(kinds('a <<{"x"\n\nb', true)).toEqual(['a <<{"x"\n\nb']);
  expect(kinds('```\n<<{"a', true)).toEqual(['```\n<<{"a']);
});

test("an unfinished placeholder is shown as the text that it is when nothing more comes", () => {
  expect(kinds('a <<{"type":"pro')).toEqual(['a <<{"type":"pro']);
});
