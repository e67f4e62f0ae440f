import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { Json } from "@/content/Json";

const shown = (value: unknown) => {
  const { container } = render(<Json value={value} />);
  return container.querySelector("code")?.textContent;
};

test.each([
  ["data as JSON", { a: [1] }, '{\n  "a": [\n    1\n  ]\n}'],
  ["JSON in a text as JSON", ' {"a":1}', '{\n  "a": 1\n}'],
  ["words as words", "a\nb", "a\nb"],
  ["what only begins like JSON as words", "{a", "{a"],
  ["a number in a text as it was written", "007", "007"],
  [
    "numbers longer than ours as they were written",
    '{"id":12345678901234567890}',
    '{"id":12345678901234567890}',
  ],
  ["what turns a text around", { a: "\u202etxt\u2066" }, '{\n  "a": "\\u202etxt\\u2066"\n}'],
  ["words that run the other way as they are", "\u2067שלום\u2069", "\u2067שלום\u2069"],
  ["nothing as nothing", undefined, ""],
  ["null as null", null, "null"],
])("it shows %s", (_, value, expected) => {
  expect(shown(value)).toBe(expected);
});

test("long content is cut until it is expanded, but copied whole", async () => {
  const user = userEvent.setup();
  const text = "x".repeat(50_000);
  const { container } = render(<Json value={text} label="Result" />);
  const code = container.querySelector("code");
  expect(code?.textContent).toHaveLength(10_001);
  await user.click(screen.getByRole("button", { name: "Copy Result" }));
  expect(await navigator.clipboard.readText()).toBe(text);
  await user.click(screen.getByRole("button", { name: /^Show all/ }));
  expect(code?.textContent).toBe(text);
  expect(screen.queryByRole("button", { name: /^Show all/ })).toBeNull();
});
