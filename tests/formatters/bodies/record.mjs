// What a real client sends: `node record.mjs ai-v6` prints {"what the person did": body, …}.
//
// The chat is the package's own AbstractChat with its own DefaultChatTransport; only fetch is ours.
// It answers with the next of a scene's streams and keeps each body. A scene's last body counts.

import { readFileSync } from "node:fs";

const client = process.argv[2];
const home = new URL(`../../clients/node_modules/${client}/`, import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", home)));
const ai = await import(new URL(exports["."].import, home));

// Streams

const sse = (...chunks) =>
  [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((d) => `data: ${d}\n\n`).join("");

const step = (...chunks) => [{ type: "start-step" }, ...chunks.flat(), { type: "finish-step" }];

const answer = (messageId) =>
  sse(
    { type: "start", messageId },
    ...step(
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "ok" },
      { type: "text-end", id: "t" },
    ),
    { type: "finish" },
  );

const call = (toolCallId, toolName, more) => [
  { type: "tool-input-start", toolCallId, toolName, ...more },
  { type: "tool-input-available", toolCallId, toolName, input: { path: "x" }, ...more },
];

// The agent's own tool runs in the first step; the second waits for the person or the client.
const waiting = (toolName, more, ...asked) =>
  sse(
    { type: "start", messageId: "run1" },
    ...step(call("run1:c0", "look", more), { type: "tool-output-available", toolCallId: "run1:c0", output: "seen", ...more }),
    ...step(call("run1:c1", toolName, more), asked),
    { type: "finish" },
  );

const dynamic = { dynamic: true };
const question = { type: "tool-approval-request", approvalId: "run1:ask1", toolCallId: "run1:c1" };
const asksClient = waiting("locate", dynamic);
const asksClientStatic = waiting("locate", {});
const asksPerson = waiting("remove", dynamic, question);
const asksPersonStatic = waiting("remove", {}, question);

// A request that no call shows is a call of ask_user.
const asks = (input) =>
  sse(
    { type: "start", messageId: "run1" },
    ...step({ type: "tool-input-available", toolCallId: "run1:@ask:q1", toolName: "ask_user", input }),
    { type: "finish" },
  );
const asksQuestion = asks({ kind: "question", prompt: "Which?", options: ["red", "blue"] });
const asksApproval = asks({ kind: "approval", prompt: "May I?" });

// Chats

const user = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });
const assistant = (id, text) => ({
  id,
  role: "assistant",
  parts: [{ type: "step-start" }, { type: "text", text, state: "done" }],
});
const history = [user("u1", "one"), assistant("a1", "1"), user("u2", "two"), assistant("a2", "2")];
const unanswered = history.slice(0, 3);

const picture = {
  type: "file",
  mediaType: "image/png",
  filename: "a.png",
  url: "data:image/png;base64,iVBORw0KGgo=",
};
const paper = { type: "file", mediaType: "application/pdf", url: "https://example.org/b.pdf" };

class Chat extends ai.AbstractChat {
  constructor(options) {
    const state = {
      status: "ready",
      error: undefined,
      messages: [],
      pushMessage: (message) => (state.messages = [...state.messages, message]),
      popMessage: () => (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (i, message) => (state.messages = state.messages.with(i, message)),
      snapshot: (value) => structuredClone(value),
    };
    super({ ...options, state });
  }

  addOutput(output) {
    return this.addToolOutput?.(output) ?? this.addToolResult(output); // its only name in early 5
  }
}

function open({ messages = [], streams = [], when, prepare, body }) {
  const bodies = [];
  const waiters = [];
  const left = [...streams];
  let ids = 0;
  const fetch = async (_url, { body }) => {
    bodies.push(JSON.parse(body));
    waiters.shift()?.();
    return new Response(left.shift() ?? answer("run9"));
  };
  const chat = new Chat({
    id: "chat1",
    generateId: () => `new${++ids}`,
    sendAutomaticallyWhen: when,
    onError: (error) => console.error(client, error),
    transport: new ai.DefaultChatTransport({ fetch, body, prepareSendMessagesRequest: prepare }),
  });
  chat.messages = messages;
  const next = () => new Promise((resolve) => waiters.push(resolve));
  return { chat, bodies, next };
}

const lastOnly = ({ id, messages }) => ({ body: { id, message: messages.at(-1) } });
const lastAndWhy = ({ id, messages, trigger, messageId }) => ({
  body: { id, message: messages.at(-1), trigger, messageId },
});

// Scenes: [the chat, what the person does]

const submit = { text: "hi" };
const edit = { text: "two!", messageId: "u2" };
const done = { tool: "locate", toolCallId: "run1:c1", output: { lat: 1 } };
const failed = { tool: "locate", toolCallId: "run1:c1", state: "output-error", errorText: "no GPS" };
const yes = { id: "run1:ask1", approved: true };
const no = { id: "run1:ask1", approved: false, reason: "too risky" };

const red = { tool: "ask_user", toolCallId: "run1:@ask:q1", output: "red" };
const never = { ...red, output: { approved: false, reason: "too risky" } };
const silent = { tool: "ask_user", toolCallId: "run1:@ask:q1", state: "output-error", errorText: "no time" };

const tools = (stream, more) => ({
  streams: [stream],
  when: ai.lastAssistantMessageIsCompleteWithToolCalls,
  ...more,
});
const approvals = (stream, more) => ({
  streams: [stream],
  when: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
  ...more,
});

const bySubmitting = (...args) => ({ chat }) => chat.sendMessage(...args);
const byRegenerating = (...args) => ({ chat }) => chat.regenerate(...args);
// A request that the client sends by itself is not awaited by whatever caused it.
const afterSubmitting = (act) => async ({ chat, next }) => {
  await chat.sendMessage(submit);
  const sent = next();
  await act(chat);
  await sent;
};

const scenes = {
  "submit": [{}, bySubmitting(submit)],
  "submit after a history": [{ messages: history }, bySubmitting(submit)],
  "submit with a body and metadata": [
    { body: { agent: "demo", model: "m" } },
    bySubmitting({ text: "hi", metadata: { at: 1 } }, { body: { temperature: 0 } }),
  ],
  "submit with files": [{}, bySubmitting({ text: "see", files: [picture, paper] })],
  "submit files only": [{}, bySubmitting({ files: [picture] })],
  "submit parts of its own": [
    {},
    bySubmitting({
      id: "mine",
      role: "user",
      parts: [{ type: "text", text: "hi" }, { type: "data-place", id: "p", data: { lat: 1 } }],
    }),
  ],
  "submit the last message only": [{ messages: history, prepare: lastOnly }, bySubmitting(submit)],
  "edit": [{ messages: history }, bySubmitting(edit)],
  "edit with an id of its own": [
    { messages: history },
    bySubmitting({ id: "u2b", parts: [{ type: "text", text: "two!" }], messageId: "u2" }),
  ],
  "edit the last message only": [{ messages: history, prepare: lastAndWhy }, bySubmitting(edit)],
  "send again what has no answer": [{ messages: unanswered }, bySubmitting()],
  "regenerate": [{ messages: history }, byRegenerating()],
  "regenerate what has no answer": [{ messages: unanswered }, byRegenerating()],
  "regenerate an answer": [{ messages: history }, byRegenerating({ messageId: "a1" })],
  "regenerate from a question": [{ messages: history }, byRegenerating({ messageId: "u1" })],
  "regenerate the last message only": [
    { messages: history, prepare: lastAndWhy },
    byRegenerating(),
  ],
  "regenerate an answer the last message only": [
    { messages: history, prepare: lastAndWhy },
    byRegenerating({ messageId: "a1" }),
  ],
  "regenerate the last message without a trigger": [
    { messages: history, prepare: lastOnly },
    byRegenerating(),
  ],
  "continue a finished answer": [{ messages: history }, bySubmitting()],
  "tool output": [tools(asksClient), afterSubmitting((chat) => chat.addOutput(done))],
  "tool output of a static tool": [
    tools(asksClientStatic),
    afterSubmitting((chat) => chat.addOutput(done)),
  ],
  "tool output of the last message only": [
    tools(asksClient, { prepare: lastOnly }),
    afterSubmitting((chat) => chat.addOutput(done)),
  ],
  "tool output null sent by hand": [
    { streams: [asksClient] },
    afterSubmitting(async (chat) => {
      await chat.addOutput({ ...done, output: null });
      await chat.sendMessage();
    }),
  ],
  "tool failure": [tools(asksClient), afterSubmitting((chat) => chat.addOutput(failed))],
  "answer": [tools(asksQuestion), afterSubmitting((chat) => chat.addOutput(red))],
  "answer sent by hand": [
    { streams: [asksQuestion] },
    afterSubmitting(async (chat) => {
      await chat.addOutput(red);
      await chat.sendMessage();
    }),
  ],
  "answer that denies": [tools(asksApproval), afterSubmitting((chat) => chat.addOutput(never))],
  "no answer": [tools(asksQuestion), afterSubmitting((chat) => chat.addOutput(silent))],
};

const approvalScenes = {
  "approval": [approvals(asksPerson), afterSubmitting((c) => c.addToolApprovalResponse(yes))],
  "approval of a static tool": [
    approvals(asksPersonStatic),
    afterSubmitting((chat) => chat.addToolApprovalResponse(yes)),
  ],
  "approval of the last message only": [
    approvals(asksPerson, { prepare: lastOnly }),
    afterSubmitting((chat) => chat.addToolApprovalResponse(yes)),
  ],
  "approval and output": [
    tools(asksPerson),
    afterSubmitting(async (chat) => {
      await chat.addToolApprovalResponse(yes);
      await chat.addToolOutput({ tool: "remove", toolCallId: "run1:c1", output: "gone" });
    }),
  ],
  "approval of an earlier message": [
    { streams: [asksPerson, answer("run2")] },
    async ({ chat }) => {
      await chat.sendMessage(submit);
      await chat.sendMessage({ text: "meanwhile" });
      await chat.addToolApprovalResponse(yes);
      await chat.sendMessage();
    },
  ],
  "denial": [approvals(asksPerson), afterSubmitting((c) => c.addToolApprovalResponse(no))],
};

const played = ai.lastAssistantMessageIsCompleteWithApprovalResponses
  ? { ...scenes, ...approvalScenes }
  : scenes;
const recorded = {};
for (const [name, [setting, act]] of Object.entries(played)) {
  const opened = open(setting);
  await act(opened);
  recorded[name] = opened.bodies.at(-1);
}
process.stdout.write(JSON.stringify(recorded));
