import { describe, expect, test } from "vitest";
import { answerOf, type Draft, formOf, isComplete } from "@/parts/form";

const field = (chosen: number[], text = "") => ({ chosen, text });
const answer = (request: object, draft: Draft) => answerOf(formOf(request), draft);

describe("the value for the agent", () => {
  test("of options, the one that was chosen", () => {
    expect(answer({ options: ["oak", "pine"] }, { value: field([1]) })).toBe("pine");
    const options = [{ label: "Yes, all", value: "all" }, { label: "No" }];
    expect(answer({ options }, { value: field([0]) })).toBe("all");
    expect(answer({ options }, { value: field([1]) })).toBe("No");
  });

  test("of several questions, an answer to each by its words", () => {
    const options = {
      questions: [
        { question: "Which color?", options: [{ label: "Red" }, { label: "Blue" }] },
        { question: "Which sizes?", multiSelect: true, options: [{ label: "S" }, { label: "M" }] },
      ],
    };
    const draft = { "Which color?": field([], "green"), "Which sizes?": field([0, 1], "XL") };
    expect(answer({ options }, draft)).toEqual({
      answers: { "Which color?": "green", "Which sizes?": "S, M, XL" },
    });
  });

  test("of a schema, an object of the right types without what was left out", () => {
    const schema = {
      type: "object",
      required: ["to"],
      properties: {
        to: { type: "string" },
        days: { type: "integer" },
        window: { type: "boolean" },
        class: { enum: ["first", "second"] },
      },
    };
    const draft = { to: field([], " Rome "), days: field([], "3"), window: field([1]) };
    expect(answer({ schema }, draft)).toEqual({ to: "Rome", days: 3, window: false });
  });

  test("of a schema that is no object, its value", () => {
    expect(answer({ schema: { type: "boolean" } }, { value: field([0]) })).toBe(true);
    expect(answer({ schema: { type: "number" } }, { value: field([], "1.5") })).toBe(1.5);
  });

  test("of nothing in particular, the words", () => {
    expect(answer({}, { value: field([], "Ada") })).toBe("Ada");
  });
});

test("nothing can be sent before all required fields are filled", () => {
  const form = formOf({ schema: { properties: { a: {}, b: {} }, required: ["a"] } });
  expect(isComplete(form, {})).toBe(false);
  expect(isComplete(form, { a: field([], "  ") })).toBe(false);
  expect(isComplete(form, { a: field([], "x") })).toBe(true);
});

test.each([
  null,
  5,
  "x",
  [null],
  { questions: "no" },
  { properties: 3 },
])("options and schemas like %j ask for words", (odd) => {
  expect(formOf({ options: odd, schema: odd }).fields).toMatchObject([{ kind: "text" }]);
});
