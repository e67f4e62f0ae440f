import { describe, expect, it } from "vitest";
import type { Event } from "@/transports/agUi/names";
import { Translation } from "@/transports/agUi/translation";

/** What events of a run come to: those that the recordings of the server's tests do not have. */
function translated(...events: object[]): object[] {
  const translation = new Translation("r");
  return events.flatMap((event) => translation.read(event as Event));
}

const call = (text: string, more: object = {}) => [
  { type: "TOOL_CALL_START", toolCallId: "r:c", toolCallName: "rm" },
  { type: "TOOL_CALL_ARGS", toolCallId: "r:c", delta: text },
  { type: "TOOL_CALL_END", toolCallId: "r:c", ...more },
];
const result = (content: unknown, mobox?: object) => ({
  type: "TOOL_CALL_RESULT",
  messageId: "r:c@result",
  toolCallId: "r:c",
  content,
  ...(mobox && { metadata: { mobox } }),
});
const snapshot = (args: string, more: object[] = []) => ({
  type: "MESSAGES_SNAPSHOT",
  messages: [
    {
      id: "r:c",
      role: "assistant",
      toolCalls: [{ id: "r:c", function: { name: "rm", arguments: args } }],
    },
    ...more,
  ],
});

describe("a call", () => {
  it("whose response ends amid its input goes on with the next one", () => {
    const started = call('{"a": "b');
    const more = [
      { type: "TOOL_CALL_START", toolCallId: "r:c", toolCallName: "rm" },
      { type: "TOOL_CALL_ARGS", toolCallId: "r:c", delta: 'c"}' },
      { type: "TOOL_CALL_END", toolCallId: "r:c" },
    ];
    const chunks = translated(...started, ...more);
    expect(chunks.map((chunk) => (chunk as { type: string }).type)).toEqual([
      ...["tool-input-start", "tool-input-delta", "tool-input-delta", "tool-input-available"],
    ]);
    expect(chunks.at(-1)).toMatchObject({ input: { a: "bc" } });
  });

  it("whose input is broken shows what came, and not what was added", () => {
    const metadata = { mobox: { invalid: true, added: '"}' } };
    const chunks = translated(
      ...call('{"a": "b"}', { metadata }),
      result("", { status: "interrupted" }),
    );
    expect(chunks.at(-1)).toMatchObject({ type: "tool-input-error", input: '{"a": "b' });
  });

  it.each([
    ["a text", result("7"), "7"],
    ["a value", result("7", { json: true }), 7],
    ["texts", result("a\nb\n", { lines: [2, 1] }), ["a\nb", ""]],
    ["what else there is", result([{ type: "image" }]), [{ type: "image" }]],
  ])("has as its output %s", (_, event, output) => {
    const [last] = translated(...call("{}"), event).slice(-1) as { output: unknown }[];
    const texts = (value: unknown) =>
      Array.isArray(value) ? value.map((each) => each.text ?? each) : value;
    expect(texts(last?.output)).toEqual(output);
  });

  it("whose input is corrected keeps its result", () => {
    const chunks = translated(...call('{"a":1}'), result("done"), snapshot('{"a":2}'));
    expect(chunks.slice(-2)).toMatchObject([
      { type: "tool-input-available", input: { a: 2 } },
      { type: "tool-output-available", output: "done" },
    ]);
  });

  it("whose result is corrected has the other", () => {
    const other = { ...result("other"), role: "tool", id: "r:c@result" };
    expect(translated(...call("{}"), result("one"), snapshot("{}", [other])).at(-1)).toMatchObject({
      type: "tool-output-available",
      output: "other",
    });
  });

  it("that is unchanged in a snapshot is not repeated", () => {
    const same = { ...result("one"), role: "tool", id: "r:c@result" };
    const before = translated(...call('{"b":1,"a":2}'), result("one"));
    const after = translated(
      ...call('{"b":1,"a":2}'),
      result("one"),
      snapshot('{"a":2,"b":1}', [same]),
    );
    expect(after).toEqual(before);
  });

  it("that is taken back is hidden, as are the texts that are gone", () => {
    const chunks = translated(
      ...call("{}"),
      { type: "TEXT_MESSAGE_START", messageId: "r:t" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "r:t", delta: "x" },
      { type: "MESSAGES_SNAPSHOT", messages: [] },
    );
    expect(chunks.at(-1)).toEqual({
      type: "data-retract",
      id: "retract",
      data: { ids: ["t", "r:c"] },
    });
  });
});

it("a source that comes after its text is sent, and its text is not repeated", () => {
  const start = { type: "TEXT_MESSAGE_START", messageId: "r:t" };
  const end = { type: "TEXT_MESSAGE_END", messageId: "r:t" };
  const cited = (...urls: string[]) => ({ metadata: { citations: urls.map((url) => ({ url })) } });
  const chunks = translated(start, { ...end, ...cited("a") }, start, {
    ...end,
    ...cited("a", "b"),
  });
  expect(chunks).toMatchObject([
    { type: "text-start" },
    { type: "text-end" },
    { type: "source-url", url: "a", providerMetadata: { mobox: { for: "t" } } },
    { type: "source-url", url: "b" },
  ]);
});

it("an application's event is its data, and never looks like ours", () => {
  const custom = (name: string, more: object = {}) => ({ type: "CUSTOM", name, value: 1, ...more });
  const metadata = { mobox: { id: "x" } };
  expect(translated(custom("my chart", { metadata }), custom("usage"))).toEqual([
    { type: "data-my-chart", id: "x", data: 1 },
    { type: "data-custom-usage", data: 1 },
  ]);
});

it("the durations and the usage of a run are the server's", () => {
  const custom = (name: string, value: object) => ({ type: "CUSTOM", name, value });
  const chunks = translated(
    { type: "REASONING_MESSAGE_START", messageId: "r:t" },
    {
      type: "REASONING_MESSAGE_END",
      messageId: "r:t",
      metadata: { mobox: { durationMs: 5 } },
    },
    custom("mobox.duration", { messageId: "r:t", durationMs: 5 }),
    custom("mobox.processing", { id: "processing_1", line: "one" }),
    custom("mobox.processing", { id: "processing_1", line: "two" }),
    custom("mobox.processing", { id: "processing_1", durationMs: 7 }),
    custom("mobox.usage", { inputTokens: 1, cacheWriteInputTokens: 2 }),
    custom("mobox.duration", { durationMs: 9 }),
    { type: "RUN_FINISHED" },
  );
  const ends = chunks.filter((chunk) => (chunk as { type: string }).type === "reasoning-end");
  expect(ends).toMatchObject([
    { providerMetadata: { mobox: { id: "t", durationMs: 5 } } },
    { providerMetadata: { mobox: { variant: "processing", durationMs: 7 } } },
  ]);
  expect(chunks).toContainEqual({ type: "reasoning-delta", id: "processing_1", delta: "\ntwo" });
  const usage = { inputTokens: 1, cacheWriteTokens: 2 };
  expect(chunks.at(-1)).toMatchObject({
    type: "finish",
    messageMetadata: { reason: "stop", usage, durationMs: 9 },
  });
});

it.each([
  "RUN_FINISHED",
  "RUN_ERROR",
])("marks a simulated model at the end of a run: %s", (type) => {
  const simulated = translated({ type, metadata: { mobox: { simulated: true } } });
  expect(simulated).toContainEqual(
    expect.objectContaining({ messageMetadata: expect.objectContaining({ simulated: true }) }),
  );
  const others = translated({ type, metadata: { mobox: { simulated: "no" } } });
  expect(JSON.stringify(others)).not.toContain("simulated");
});

describe("a text", () => {
  it("names calls in its placeholders as the agent does", () => {
    const placed = (id: string) => `<<{"type":"promql","tool_call_id":"${id}"}>> "r:" `;
    const chunks = translated(
      { type: "TEXT_MESSAGE_START", messageId: "r:t", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "r:t", delta: 'say "r:c" ' },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "r:t", delta: placed("r:c") },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "r:t", delta: placed("other:c") },
    );
    const deltas = chunks.map((chunk) => (chunk as { delta?: string }).delta).slice(1);
    expect(deltas[0]).toBe('say "r:c" ');
    expect(deltas[1]).toContain('"tool_call_id":"c"');
    expect(deltas[2]).toContain('"tool_call_id":"other:c"');
  });
});
