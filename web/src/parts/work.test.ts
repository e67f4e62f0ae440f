import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { labelOf } from "@/parts/activityLabel";
import type { ActivityBlock, Block } from "@/parts/blocks";
import { demo, recordings, statesOf } from "@/parts/fixtures/messages";
import { view } from "@/parts/view";
import { every } from "@/parts/work";

const message = (parts: unknown[], metadata?: unknown): UIMessage => ({
  id: "m1",
  role: "assistant",
  parts: parts as UIMessage["parts"],
  metadata,
});
const see = (parts: unknown[], metadata: unknown = { reason: "stop" }, live = false) =>
  view(message(parts, metadata), live, "answer");
const seeLive = (...parts: unknown[]) => see(parts, undefined, true);
const text = (words: string, mobox: object = {}) => ({
  type: "text",
  text: words,
  state: "done",
  providerMetadata: { mobox },
});
const thought = (words: string, mobox: object = {}, state = "done") => ({
  type: "reasoning",
  text: words,
  state,
  providerMetadata: { mobox: { variant: "thinking", ...mobox } },
});
const log = (words: string, mobox: object = {}) =>
  thought(words, { variant: "processing", ...mobox });
let calls = 0;
const tool = (toolName: string, more: object = {}, mobox: object = {}) => ({
  type: "dynamic-tool",
  toolCallId: `call${++calls}`,
  toolName,
  state: "output-available",
  input: {},
  output: "ok",
  callProviderMetadata: { mobox },
  ...more,
});
const plan = (...states: string[]) => ({
  type: "data-todos",
  id: "todos",
  data: { items: states.map((status, n) => ({ content: `Item ${n}`, status })) },
});
const kinds = (blocks: Block[]) => blocks.map((block) => block.kind);
const only = (blocks: Block[]) =>
  blocks.find((block) => block.kind === "activity") as ActivityBlock;
const lineOf = (blocks: Block[]) => labelOf(only(blocks));

describe("what stands in a line", () => {
  test("the work before each text is one block", () => {
    const blocks = see([log("a"), tool("x"), thought("b"), text("One."), tool("y"), text("Two.")]);
    expect(kinds(blocks)).toEqual(["activity", "text", "activity", "text", "ending"]);
    expect(kinds(only(blocks).blocks)).toEqual(["reasoning", "tool", "reasoning"]);
  });

  test("counts are by kind of tool, also in subagents, with what went wrong", () => {
    const agent = { type: "data-subagent", id: "s", data: { agent: "researcher", status: "ok" } };
    const blocks = see([
      tool("Bash", { input: { command: "ls" } }),
      tool("web_search"),
      tool("internet_search", {}, { scope: ["s"] }),
      agent,
      tool("Read", { state: "output-error", errorText: "no" }),
      text("So.", { workedMs: 48_000 }),
    ]);
    expect(lineOf(blocks).done).toBe(
      "Worked for 48s · 1 subagent · 1 command · 2 searches · 1 file read · 1 failed",
    );
  });

  test("a text tells how long the work before it took; without a text it is the whole run", () => {
    expect(only(see([tool("x"), text("A", { workedMs: 5 })])).workedMs).toBe(5);
    expect(only(see([tool("x")], { reason: "stop", durationMs: 9 })).workedMs).toBe(9);
    expect(lineOf(see([tool("x"), text("A")])).done).toBe("Worked · 1 tool call");
  });

  test("a run that is at work says what it does", () => {
    const running = { state: "input-available", output: undefined };
    const searching = tool("web_search", { ...running, input: { query: "milk" } });
    expect(lineOf(seeLive(tool("x"), searching)).now).toBe("Searching: milk");
    expect(lineOf(seeLive(tool("x"), thought("hm", {}, "streaming"))).now).toBe("Working…");
    expect(only(seeLive(tool("x"), text("A"))).active).toBe(false);
  });
});

describe("what never stands in a line", () => {
  const asked = tool("rm", {
    state: "approval-requested",
    approval: { id: "a" },
    output: undefined,
  });
  const question = { type: "data-input", id: "q", data: { kind: "question", prompt: "Which?" } };
  const agent = { type: "data-subagent", id: "s", data: { agent: "a", status: "running" } };
  const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" };

  test.each([
    ["an approval", [asked], "tool"],
    ["a question", [question], "request"],
    [
      "an approval in a subagent",
      [agent, { ...asked, callProviderMetadata: { mobox: { scope: ["s"] } } }],
      "subagent",
    ],
    ["a chart", [{ type: "data-chart", id: "c", data: {} }], "chart"],
    ["a file", [picture], "files"],
  ])("%s", (_what, parts, kind) => {
    const work = [tool("x"), tool("y"), tool("z")];
    const blocks = see(
      [...work, ...parts, ...work.map((w) => ({ ...w, toolCallId: `${w.toolCallId}b` }))],
      {},
    );
    expect(kinds(blocks)).toEqual(["activity", kind, "activity"]);
  });

  test("an error and a stop", () => {
    expect(kinds(see([tool("x")], { reason: "error", error: "no", errorCode: "crashed" }))).toEqual(
      ["activity", "error"],
    );
    expect(kinds(see([tool("x")], { reason: "cancelled" }))).toEqual(["activity", "ending"]);
  });
});

describe("the plan", () => {
  test("is in sight while it is worked off, and part of the work afterwards", () => {
    const parts = [thought("a"), plan("completed", "in_progress"), tool("x")];
    const [pinned, work] = seeLive(...parts);
    expect(pinned).toMatchObject({ kind: "todos", pinned: true });
    expect(kinds((work as ActivityBlock).blocks)).toEqual(["reasoning", "tool"]);
    expect(kinds(only(see(parts)).blocks)).toEqual(["reasoning", "todos", "tool"]);
  });

  test("is not told again line by line; what it does not have is kept", () => {
    const lines = "Planned 2 steps: Item 0; Item 1\n1 of 2 steps done: Item 1\nLooking around";
    const told = (words: string) =>
      only(see([log(words), plan("completed", "pending")])).blocks.flatMap((block) =>
        block.kind === "reasoning" ? [block.text] : [],
      );
    expect(told(lines)).toEqual(["Looking around"]);
    expect(told("1 of 2 steps done: Item 7")).toEqual(["1 of 2 steps done: Item 7"]);
    expect(only(see([log(lines)])).blocks).toMatchObject([{ text: lines }]);
  });
});

test("lines of a start are left out if it took less than a second", () => {
  const start = "Creating the sandbox\nSetting up the environment\nStarting Demo";
  expect(kinds(see([log(start, { durationMs: 900 }), text("Hi")]))).toEqual(["text", "ending"]);
  expect(only(see([log(start, { durationMs: 1200 }), text("Hi")])).blocks).toHaveLength(1);
});

test("remarks after the answer are work before it, except where the run failed", () => {
  const parts = [tool("x"), text("Answer."), log("Saved.")];
  expect(kinds(see(parts))).toEqual(["activity", "text", "ending"]);
  expect(kinds(see(parts, { reason: "cancelled" }))).toEqual([
    "activity",
    "text",
    "activity",
    "ending",
  ]);
});

test("nothing is marked as done well where the run failed", () => {
  const broken = see([log("a")], { reason: "error", error: "no" });
  expect(only(broken).blocks).toMatchObject([{ broken: true }]);
  expect(only(see([log("a")])).blocks[0]).not.toHaveProperty("broken");
});

test("what a subagent says is its report, not a thought", () => {
  const agent = { type: "data-subagent", id: "s", data: { agent: "a", status: "ok" } };
  const blocks = see([agent, thought("It is tall.", { scope: ["s"], said: true })]);
  expect(kinds(every(blocks))).toEqual(["activity", "subagent", "text", "ending"]);
});

const named = (blocks: Block[]) =>
  every(blocks)
    .filter(({ kind }) => kind !== "activity" && kind !== "tools")
    .flatMap(({ made = [] }) => made);

const isLog = (block: Block) => block.kind === "reasoning" && block.variant === "processing";

/** Every part is shown once, in both styles; only lines of a log may be on a card instead. */
function checkShown(whole: UIMessage, live: boolean): void {
  const steps = view(whole, live, "steps");
  const folded = view(whole, live, "answer");
  const logged = every(steps)
    .filter(isLog)
    .flatMap(({ made = [] }) => made);
  const shown = named(folded);
  expect(shown.length).toBe(
    new Set(shown).size + (named(steps).length - new Set(named(steps)).size),
  );
  const left = named(steps).filter((id) => !shown.includes(id));
  expect(left.filter((id) => !logged.includes(id))).toEqual([]);
  expect(shown.filter((id) => !named(steps).includes(id))).toEqual([]);
  const keys = every(folded).map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
}

test.each(recordings)("every part of %s is shown once, in either style", async (_name, chunks) => {
  const states = await statesOf(chunks);
  for (const state of states.filter((_, place) => place % 7 === 0 || place === states.length - 1))
    checkShown(state, true);
  checkShown(states.at(-1) as UIMessage, false);
});

test.each(Object.entries(demo))("every part of the demo's %j is shown once", (_name, stored) => {
  checkShown(stored, false);
});
