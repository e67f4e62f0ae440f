import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import type { Block, SubagentBlock, TextBlock } from "@/parts/blocks";
import { demo, statesOf } from "@/parts/fixtures/messages";
import { view } from "@/parts/view";

type Parts = UIMessage["parts"];
const message = (parts: unknown[], metadata?: unknown): UIMessage => ({
  id: "m1",
  role: "assistant",
  parts: parts as Parts,
  metadata,
});
const see = (...parts: unknown[]) => view(message(parts), false);
const seeLive = (...parts: unknown[]) => view(message(parts), true);
const kinds = (blocks: Block[]) => blocks.map((block) => block.kind);
const text = (words: string, id?: string, state = "done") => ({
  type: "text",
  text: words,
  state,
  providerMetadata: { mobox: { id } },
});
const thought = (words: string, more: object = {}, state = "done") => ({
  type: "reasoning",
  text: words,
  state,
  providerMetadata: { mobox: { variant: "thinking", ...more } },
});
const tool = (toolCallId: string, more: object = {}, mobox: object = {}) => ({
  type: "dynamic-tool",
  toolCallId,
  toolName: "read",
  state: "output-available",
  input: {},
  output: "ok",
  callProviderMetadata: { mobox },
  ...more,
});
const source = (url: string, owner: string, citedText?: string) => ({
  type: "source-url",
  sourceId: url,
  url,
  providerMetadata: { mobox: { for: owner, citedText } },
});
const subagent = (id: string, scope: string[] = [], more: object = {}) => ({
  type: "data-subagent",
  id,
  data: { agent: `agent ${id}`, status: "ok", scope, ...more },
});

const every = (blocks: Block[]): Block[] =>
  blocks.flatMap((block) => [block, ...(block.kind === "subagent" ? every(block.blocks) : [])]);
const first = <K extends Block["kind"]>(blocks: Block[], kind: K) =>
  every(blocks).find((block) => block.kind === kind) as Extract<Block, { kind: K }>;

describe("text", () => {
  test("parts of one sentence are one flow, with its sources where their parts end", () => {
    const blocks = see(
      text("Grown ", "a"),
      text("in 2026", "b"),
      source("https://one.example/", "b", "It grew."),
      text(", says the doc.", "c"),
      source("https://two.example/", "c"),
    );
    expect(kinds(blocks)).toEqual(["text", "sources"]);
    const flow = blocks[0] as TextBlock;
    expect(flow.text).toBe("Grown in 2026, says the doc.");
    expect(flow.citations.map(({ number, after }) => [number, flow.text.slice(0, after)])).toEqual([
      [1, "Grown in 2026"],
      [2, "Grown in 2026, says the doc."],
    ]);
  });

  test("a source is marked where its cited words end if the text has them", () => {
    const flow = first(view(demo.cite, false), "text");
    expect(flow.citations.map(({ after }) => flow.text.slice(0, after))).toEqual([
      "Water boils at 100 °C at sea level",
      "Water boils at 100 °C at sea level, and at about 71 °C on Everest.",
    ]);
  });

  test("no mark moves along with a text that is being written", () => {
    const parts = [text("Half a sen", "a", "streaming"), source("https://one.example/", "a")];
    expect(first(seeLive(...parts), "text").citations).toEqual([]);
    expect(first(seeLive(...parts), "sources").cited).toHaveLength(1);
  });

  test("a source cited twice has one number, and is listed once", () => {
    const same = "https://one.example/";
    const blocks = see(text("A.", "a"), source(same, "a"), text(" B.", "b"), source(same, "b"));
    expect(first(blocks, "text").citations.map((mark) => mark.number)).toEqual([1, 1]);
    expect(first(blocks, "sources").cited).toHaveLength(1);
  });

  test("what a search found is listed apart from what the text points to", () => {
    const blocks = see(
      tool("t1"),
      source("https://one.example/", "t1"),
      source("https://two.example/", "t1"),
      text("A.", "a"),
      source("https://two.example/", "a"),
    );
    const { cited, found } = first(blocks, "sources");
    expect(cited.map((item) => item.url)).toEqual(["https://two.example/"]);
    expect(found.map((item) => item.url)).toEqual(["https://one.example/"]);
  });

  test("texts of two turns are paragraphs of their own", () => {
    const [flow] = see(text("One.", "a"), { type: "step-start" }, text("Two.", "b")) as TextBlock[];
    expect(flow?.text).toBe("One.\n\nTwo.");
  });

  test("blank text shows nothing", () => {
    expect(see(text("\n\n", "a"))).toEqual([]);
  });

  test("a refusal differs from an answer", () => {
    const refusal = { ...text("No."), providerMetadata: { mobox: { variant: "refusal" } } };
    expect(see(text("Well."), refusal).map((block) => (block as TextBlock).tone)).toEqual([
      "answer",
      "refusal",
    ]);
  });
});

describe("reasoning", () => {
  test("blank reasoning is left out", () => {
    expect(see(thought(" \n"))).toEqual([]);
  });

  test.each([
    ["Creating sandbox…", "processing"],
    ["Starting agent", "processing"],
    ["Initializing the tools", "processing"],
    ["I wonder whether initializing is needed.", "thinking"],
  ])("without a variant, %j is %s", (words, variant) => {
    const [block] = see({ type: "reasoning", text: words });
    expect(block).toMatchObject({ kind: "reasoning", variant });
  });

  test("thoughts with nothing between them are one block, as long as both", () => {
    const blocks = seeLive(
      thought("One.", { id: "a", durationMs: 1000 }),
      { type: "step-start" },
      thought("Two.", { id: "b", durationMs: 500 }),
      { type: "reasoning", text: "Starting agent", state: "streaming" },
    );
    expect(blocks).toMatchObject([
      { variant: "thinking", text: "One.\n\nTwo.", durationMs: 1500, newer: true },
      { variant: "processing", active: true },
    ]);
  });

  test.each([
    ["a plan", { type: "data-todos", id: "todos", data: { items: [{ content: "x" }] } }],
    ["a step", { type: "data-step", id: "s", data: { name: "Look", status: "running" } }],
    ["a call", tool("t1")],
    ["text", text("b")],
  ])("it is old as soon as %s follows", (_what, next) => {
    const block = thought("a", { id: "a" });
    expect(first(see(block), "reasoning").newer).toBe(false);
    expect(first(see(block, next), "reasoning").newer).toBe(true);
  });

  test("a list of sources does not make it old", () => {
    const found = source("https://one.example/", "t1");
    expect(first(see(thought("a"), found), "reasoning").newer).toBe(false);
  });

  test("it is not streaming in a message that has ended", () => {
    const block = thought("a", {}, "streaming");
    expect(first(seeLive(block), "reasoning").active).toBe(true);
    expect(first(see(block), "reasoning").active).toBe(false);
  });
});

describe("tools", () => {
  const stateOf = (part: object, live = false, metadata?: unknown, ...others: unknown[]) =>
    first(view(message([part, ...others], metadata), live), "tool").state;

  test.each([
    ["input-streaming", "preparing", "stopped"],
    ["input-available", "running", "stopped"],
    ["approval-requested", "waiting", "stopped"],
    ["approval-responded", "answered", "stopped"],
    ["output-available", "done", "done"],
    ["output-error", "failed", "failed"],
    ["output-denied", "denied", "denied"],
  ])("%s is %s, and %s once the run is over", (state, live, over) => {
    const part = tool("t1", { state, approval: { id: "a1" } });
    expect(stateOf(part, true)).toBe(live);
    expect(stateOf(part, false, { reason: "stop" })).toBe(over);
  });

  test("a call does not run for ever in a message that has ended", () => {
    expect(stateOf(tool("t1", { state: "input-available" }))).toBe("stopped");
  });

  test("a call that was interrupted has not failed", () => {
    const errorText = "The call was interrupted.";
    expect(stateOf(tool("t1", { state: "output-error", errorText }))).toBe("stopped");
  });

  test("a call beside one that waits for approval still runs", () => {
    const requested = tool("t2", { state: "approval-requested", approval: { id: "a1" } });
    expect(stateOf(tool("t1", { state: "input-available" }), false, undefined, requested)).toBe(
      "running",
    );
  });

  test("a call about which a question is open waits", () => {
    const question = { type: "data-input", id: "q", data: { kind: "question", toolCallId: "t1" } };
    const call = tool("t1", { state: "input-available" });
    expect(stateOf(call, false, undefined, question)).toBe("waiting");
  });

  test("a first part of a result leaves it running", () => {
    expect(stateOf(tool("t1", { preliminary: true }), true)).toBe("running");
  });

  test("more than three finished calls in a row are one block", () => {
    const three = [tool("t1"), tool("t2"), tool("t3")];
    expect(kinds(see(...three))).toEqual(["tool", "tool", "tool"]);
    const four = see(...three, { type: "step-start" }, tool("t4"), text("So."));
    expect(kinds(four)).toEqual(["tools", "text"]);
    const running = seeLive(...three, tool("t4"), tool("t5", { state: "input-available" }));
    expect(kinds(running)).toEqual(["tools", "tool"]);
  });

  test("a call that only makes the plan is not shown beside it, unless it fails", () => {
    const plan = { type: "data-todos", id: "todos", data: { items: [{ content: "x" }] } };
    expect(kinds(see(tool("t1", {}, { display: "todos" }), plan))).toEqual(["todos"]);
    const failed = tool("t1", { state: "output-error", errorText: "no" }, { display: "todos" });
    expect(kinds(see(failed, plan))).toEqual(["tool", "todos"]);
    expect(kinds(see(tool("t1", {}, { display: "todos" })))).toEqual(["tool"]);
  });
});

describe("subagents", () => {
  test("all that an agent does is in its card, with the call that sent it", () => {
    const blocks = view(demo.subagent, false);
    const card = first(blocks, "subagent");
    expect(card).toMatchObject({ trail: ["researcher"], state: "done" });
    expect(kinds(card.blocks)).toEqual(["tool", "text"]);
    expect(kinds(blocks)).toEqual(["reasoning", "subagent", "text", "sources", "ending"]);
  });

  describe("show once what several parts repeat", () => {
    const call = (more: object = {}) =>
      tool("a", { toolName: "task", input: { description: "Look", to: "agent a" }, ...more });
    const sent = { task: "Look", summary: "It is tall." };
    const card = (...parts: unknown[]) => see(...parts).find((b) => b.kind === "subagent");

    test("a report that is the result is text, and the result is not repeated", () => {
      const report = thought("It is tall.", { scope: ["a"], id: "r" });
      const parts = [call({ output: "It is tall." }), subagent("a", [], sent), report];
      expect(card(...parts)).toMatchObject({ blocks: [{ kind: "text", text: "It is tall." }] });
      expect(card(...parts)).not.toHaveProperty("summary");
    });

    test("a thought that is not the result stays a thought, and the result is kept", () => {
      const hm = thought("Hm.", { scope: ["a"] });
      expect(card(call({ output: "Tall." }), subagent("a"), hm)).toMatchObject({
        blocks: [{ kind: "reasoning" }],
        summary: "Tall.",
      });
    });

    test("a summary with more text is kept, and so is such a result", () => {
      const report = thought("It is tall.", { scope: ["a"] });
      const more = { summary: "Tall, as was to be seen." };
      const parts = [call({ output: "It is tall." }), subagent("a", [], more), report];
      expect(card(...parts)).toMatchObject({ blocks: [{ kind: "text" }], ...more });
      const data = [call({ output: { metres: 330 } }), subagent("a", [], sent), report];
      expect(card(...data)).toMatchObject({ blocks: [{ kind: "text" }, { kind: "tool" }] });
    });

    test("the call that started it is its header, with the rest of its input", () => {
      const input = { description: "Look", to: "agent a", depth: 2 };
      const running = { state: "input-available", output: undefined, input };
      expect(card(call(running), subagent("a", [], { task: "Look" }))).toMatchObject({
        blocks: [],
        more: [["depth", "2"]],
      });
    });

    test.each([
      ["failed", { state: "output-error", errorText: "no" }],
      ["needs approval", { state: "approval-requested", approval: { id: "x" }, output: undefined }],
    ])("a call that %s is in the card", (_what, more) => {
      expect(card(call(more), subagent("a"))).toMatchObject({ blocks: [{ kind: "tool" }] });
    });

    test("notes that it started and ended are on its card alone", () => {
      const notes = "agent a started: Look\n\nagent a finished: It is tall.";
      expect(kinds(see(thought(notes), subagent("a", [], sent)))).toEqual(["subagent"]);
      const more = thought(`${notes}\n\nI wonder.`);
      expect(kinds(see(more, subagent("a", [], sent)))).toEqual(["reasoning", "subagent"]);
      const other = thought("agent a finished: It is small.");
      expect(kinds(see(subagent("a", [], sent), other))).toEqual(["subagent", "reasoning"]);
    });

    test("the end of a background subagent is shown where it happened", () => {
      const blocks = see(
        subagent("a", [], { ...sent, background: true }),
        text("Meanwhile."),
        thought("agent a finished: It is tall."),
      );
      expect(kinds(blocks)).toEqual(["subagent", "text", "reasoning"]);
    });
  });

  test("a third level stands beside the second, with the way to it", () => {
    const deep = thought("deep", { scope: ["a", "b", "c"] });
    const [top] = see(subagent("a"), subagent("b", ["a"]), subagent("c", ["a", "b"]), deep);
    const [second, third] = (top as SubagentBlock).blocks as SubagentBlock[];
    expect(second).toMatchObject({ trail: ["agent b"], blocks: [] });
    expect(third?.trail).toEqual(["agent b", "agent c"]);
    expect(kinds(third?.blocks ?? [])).toEqual(["reasoning"]);
  });

  test("its plan is in its card", () => {
    const data = { items: [{ content: "x", status: "completed" }], scope: ["a"] };
    const blocks = see(subagent("a"), { type: "data-todos", id: "todos/a", data });
    expect(kinds(blocks)).toEqual(["subagent"]);
    expect(first(blocks, "todos").items).toEqual([{ text: "x", state: "done" }]);
  });

  test("an unannounced one has the name of its call", () => {
    const blocks = see(tool("t1", { toolName: "task" }), thought("hm", { scope: ["t1"] }));
    expect(kinds(blocks)).toEqual(["subagent"]);
    expect(first(blocks, "subagent").trail).toEqual(["task"]);
  });

  test("one that runs in a message that has ended has stopped", () => {
    const part = subagent("a", [], { status: "running" });
    expect(first(seeLive(part), "subagent").state).toBe("running");
    expect(first(see(part), "subagent").state).toBe("stopped");
  });
});

describe("requests", () => {
  const question = (more: object = {}) => ({
    type: "data-input",
    id: "q1",
    data: { kind: "question", prompt: "Which?", options: ["a", "b"], ...more },
  });

  test("a question is open until it is answered or the run is over", () => {
    const isOpen = (parts: unknown[], metadata?: unknown) =>
      first(view(message(parts, metadata), false), "request").open;
    expect(isOpen([question()])).toBe(true);
    expect(isOpen([question({ answered: { decision: "answered", value: "a" } })])).toBe(false);
    expect(isOpen([question()], { reason: "cancelled" })).toBe(false);
    expect(isOpen([tool("t1"), question({ toolCallId: "t1" })])).toBe(false);
  });

  test.each([
    ["denied", "Too early", { reason: "Too early" }],
    ["denied", undefined, {}],
    ["approved", { path: "b.zip" }, { value: { path: "b.zip" } }],
    ["answered", "a", { value: "a" }],
  ])("the text of %j is its reason or the answer: %j", (decision, value, expected) => {
    const blocks = see(question({ answered: { decision, value } }));
    expect(first(blocks, "request").answer).toEqual({ decision, ...expected });
  });

  test("a reason is shown as such, whatever was sent beside it", () => {
    const answered = { decision: "denied", reason: "Too early", value: { approved: false } };
    const blocks = see(question({ answered }));
    expect(first(blocks, "request").answer).toEqual({ decision: "denied", reason: "Too early" });
  });

  test("a request about a subagent's call is in its card", () => {
    const call = tool("t1", { state: "input-available" }, { scope: ["a"] });
    const blocks = see(subagent("a"), call, question({ toolCallId: "t1" }));
    expect(kinds(first(blocks, "subagent").blocks)).toEqual(["tool", "request"]);
  });

  test("the real client's approval belongs to its call, and has its decision", async () => {
    const chunks: UIMessageChunk[] = [
      { type: "start", messageId: "run_1" },
      { type: "tool-input-start", toolName: "delete_file", toolCallId: "c1", dynamic: true },
      {
        type: "tool-input-available",
        toolName: "delete_file",
        toolCallId: "c1",
        dynamic: true,
        input: { path: "a.zip" },
      },
      { type: "tool-approval-request", approvalId: "approval_1", toolCallId: "c1" },
      { type: "finish", finishReason: "tool-calls" },
    ];
    const requested = (await statesOf(chunks)).at(-1) as UIMessage;
    expect(first(view(requested, false), "tool")).toMatchObject({
      state: "waiting",
      decision: { id: "approval_1", allowed: ["approve", "reject"] },
    });
    expect(first(view(demo.approved, false), "tool")).toMatchObject({
      state: "done",
      decision: { answer: { decision: "approved" } },
    });
    expect(first(view(demo.denied, false), "tool")).toMatchObject({
      state: "denied",
      decision: { answer: { decision: "denied" } },
    });
  });
});

describe("an approval with allowed decisions", () => {
  const allowed = ["reject", "edit", "unheard of"];
  const about = (more: object = {}) => ({
    type: "data-input",
    id: "a1",
    data: { kind: "approval", toolCallId: "t1", prompt: "May I?", allowed, ...more },
  });
  const requested = tool("t1", { state: "approval-requested", approval: { id: "a1" } });
  const answered = tool("t1", {
    state: "approval-responded",
    approval: { id: "a1", approved: true },
  });

  test.each([
    ["requested by its call", requested],
    ["not yet requested by its call", tool("t1", { state: "input-available" })],
  ])("is one card, %s", (_, call) => {
    const blocks = see(call, about());
    expect(kinds(blocks)).toEqual(["tool"]);
    expect(first(blocks, "tool")).toMatchObject({
      state: "waiting",
      decision: { id: "a1", question: "May I?", allowed: ["edit", "reject"] },
    });
  });

  test.each([
    [{ decision: "edited", value: { path: "b" } }, answered],
    [{ decision: "edited", value: "b" }, answered],
    [{ decision: "answered", value: "Nothing" }, tool("t1")],
  ])("has its answer %j on that card", (answer, call) => {
    const blocks = see(call, about({ answered: answer }));
    expect(kinds(blocks)).toEqual(["tool"]);
    expect(first(blocks, "tool").decision?.answer).toEqual(answer);
  });

  test("is answered as soon as its call is", () => {
    expect(first(seeLive(answered, about()), "tool")).toMatchObject({
      state: "answered",
      decision: { answer: { decision: "approved" } },
    });
  });

  test("that was taken back has no answer", () => {
    const blocks = see(tool("t1"), about({ answered: { decision: "cancelled" } }));
    expect(first(blocks, "tool").decision?.answer).toBeUndefined();
  });

  test("about an unknown call is shown apart", () => {
    expect(kinds(see(about({ toolCallId: "t2" })))).toEqual(["request"]);
  });
});

describe("the rest", () => {
  test("what was taken back is left out, with its sources", () => {
    const retract = { type: "data-retract", id: "retract", data: { ids: ["a", "t1", "r"] } };
    const gone = [
      text("no", "a"),
      source("https://x.example/", "a"),
      tool("t1"),
      thought("no", { id: "r" }),
    ];
    expect(kinds(see(...gone, retract, text("yes", "b")))).toEqual(["text"]);
  });

  test("files that follow each other are one block, with names and sizes", () => {
    const [files] = view(demo.file, false).filter((block) => block.kind === "files");
    expect(files?.files).toMatchObject([
      { name: "gradient.png", mediaType: "image/png", size: 3172 },
      { name: "weather.csv", mediaType: "text/csv", size: 28 },
    ]);
  });

  test("steps that follow each other are one block", () => {
    expect(first(view(demo.step, false), "steps").items).toHaveLength(3);
  });

  test("an application's own data is kept, and empty parts are not", () => {
    const parts = [
      { type: "data-weather", data: { high: 24 } },
      { type: "data-custom-usage", data: null },
      { type: "data-agent-started", data: { framework: "emitted" } },
    ];
    expect(see(...parts)).toMatchObject([
      { kind: "data", items: [{ name: "weather", value: { high: 24 } }] },
    ]);
  });

  test("a failed run shows its error, and a cut one a note", () => {
    expect(view(demo.error, false).at(-1)).toMatchObject({
      kind: "error",
      text: "This is what a failure looks like.",
    });
    const cut = view(message([text("Half")], { reason: "length" }), false);
    expect(cut.at(-1)).toMatchObject({ kind: "ending", reason: "length" });
  });
});
