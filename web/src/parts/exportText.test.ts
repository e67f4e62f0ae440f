import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { chatMarkdown, messageMarkdown, plainText } from "@/parts/exportText";
import { demo, recordings, statesOf } from "@/parts/fixtures/messages";

const message = (...parts: unknown[]): UIMessage => ({
  id: "m1",
  role: "assistant",
  parts: parts as UIMessage["parts"],
});

test("the plain text has no reasoning and no calls", () => {
  expect(plainText(demo.tool)).toBe("Sun today, clouds tomorrow, and rain the day after.");
});

test("all of a message has its thoughts quoted, its calls fenced and its use below", () => {
  expect(messageMarkdown(demo.tool)).toBe(
    [
      "> **Processed in 0.1s**",
      ">",
      "> ```",
      "> Creating the sandbox",
      "> Setting up the environment",
      "> Starting Demo",
      "> ```",
      "",
      "**get_weather** (Done)",
      "",
      "```json",
      '{\n  "city": "Zürich",\n  "days": 3\n}',
      "```",
      "",
      "```json",
      JSON.stringify({ forecast: ["sun", "clouds", "rain"], high: [24, 21, 17] }, null, 2),
      "```",
      "",
      "Sun today, clouds tomorrow, and rain the day after.",
      "",
      `*2 tokens in · 21 out · 0.1s*`,
    ].join("\n"),
  );
});

test("a tool's output cannot leave its fence", () => {
  const output = "```\n# free\n````";
  const text = messageMarkdown(
    message({
      type: "dynamic-tool",
      toolName: "t",
      toolCallId: "c",
      state: "output-available",
      output,
    }),
  );
  expect(text).toContain(`\`\`\`\`\`\n${output}\n\`\`\`\`\``);
});

const answeredApproval = (answered: object) => ({
  type: "data-input",
  id: "q",
  data: { kind: "approval", prompt: "Go on?", answered },
});
const edited = { decision: "edited", value: { path: "b" } };
const answered = { decision: "answered", value: "Nothing there" };
const beside = (answered: object) => ({
  type: "data-input",
  id: "a",
  data: { kind: "approval", toolCallId: "c", allowed: ["edit", "respond"], answered },
});
const call = (approval: object) => ({
  type: "dynamic-tool",
  toolName: "rm",
  toolCallId: "c",
  state: "approval-responded",
  approval: { id: "a", ...approval },
});

test.each([
  [answeredApproval({ decision: "denied", value: "Too early" }), "You denied this: Too early"],
  [answeredApproval({ decision: "approved" }), "You approved this."],
  [answeredApproval({ decision: "cancelled" }), "The agent withdrew the question."],
  [answeredApproval({ decision: "answered", value: ["a"] }), 'You answered: ["a"]'],
  [call({ approved: false, reason: "Too early" }), "You denied this: Too early"],
  [call({ approved: true }), "You approved this."],
])("what a person decided is kept: %j", (part, expected) => {
  expect(messageMarkdown(message(part)).split("\n\n").at(-1)).toBe(expected);
});

test.each([
  [edited, 'You approved this with changes:\n\n```json\n{\n  "path": "b"\n}\n```'],
  [answered, "You answered: Nothing there"],
])("what was decided beside a call is kept with it: %j", (answer, expected) => {
  const text = messageMarkdown(message(call({ approved: true }), beside(answer)));
  expect(text).toBe(`**rm** (Answered)\n\n${expected}`);
});

test("sources are listed with their numbers", () => {
  expect(messageMarkdown(demo.cite)).toContain(
    "1. [Water](<https://example.org/water>)\n2. [Everest](<https://example.org/everest>)",
  );
});

test("the bytes of files are left out", () => {
  expect(messageMarkdown(demo.file)).toContain("- gradient.png (image/png)");
  expect(messageMarkdown(demo.file)).not.toContain("base64");
});

test("a conversation names the speakers", () => {
  const question: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: "Hi" }] };
  expect(chatMarkdown("A\nchat", [question, demo.text])).toMatch(
    /^# A chat\n\n## You\n\nHi\n\n## Agent\n\n/,
  );
});

test.each(recordings)("all text of %s is in its export", async (_name, chunks) => {
  const shown = (await statesOf(chunks)).at(-1) as UIMessage;
  const retracted = shown.parts.flatMap((part) =>
    part.type === "data-retract" ? (part.data as { ids: string[] }).ids : [],
  );
  const text = messageMarkdown(shown);
  for (const part of shown.parts) {
    const id = "providerMetadata" in part && (part.providerMetadata?.mobox as { id?: string })?.id;
    if (part.type === "text" && !retracted.includes(id || ""))
      expect(text).toContain(part.text.trim());
  }
});
