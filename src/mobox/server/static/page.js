// The page that is there until the web UI is: one chat, streamed, resumed after a reload.

const $ = (id) => document.getElementById(id);
const path = location.pathname.match(/^\/chat\/([^/]+)$/);
const chatId = path ? decodeURIComponent(path[1]) : crypto.randomUUID();
const TRIES = ["tool", "think", "todo", "step", "subagent", "cite", "file", "approve", "all"];

const api = `/api/chat/${encodeURIComponent(chatId)}`;

let messages = [];
let agent; // whom the chat has talked to

// What a chunk does to a message: the same as in the client of the AI SDK.

const find = (message, id) => message.parts.findLast((part) => part.toolCallId === id);
const block = (type) => (message, chunk) => message.parts.push({ type, id: chunk.id, text: "", state: "streaming", providerMetadata: chunk.providerMetadata });
const delta = (type) => (message, chunk) => {
  const part = message.parts.findLast((part) => part.type === type && part.id === chunk.id);
  if (part) part.text += chunk.delta;
};
const end = (type) => (message, chunk) => {
  const part = message.parts.findLast((part) => part.type === type && part.id === chunk.id);
  if (part) Object.assign(part, { state: "done", providerMetadata: chunk.providerMetadata ?? part.providerMetadata });
};
const tool = (state, ...fields) => (message, chunk) => {
  let part = find(message, chunk.toolCallId);
  if (!part) message.parts.push((part = { type: "dynamic-tool", toolCallId: chunk.toolCallId, toolName: chunk.toolName }));
  part.state = state;
  for (const field of fields) if (field in chunk) part[field] = chunk[field];
};
const APPLY = {
  "start": (message, chunk) => { message.id = chunk.messageId ?? message.id; },
  "text-start": block("text"), "text-delta": delta("text"), "text-end": end("text"),
  "reasoning-start": block("reasoning"), "reasoning-delta": delta("reasoning"), "reasoning-end": end("reasoning"),
  "tool-input-start": tool("input-streaming", "toolName"),
  "tool-input-delta": (message, chunk) => { const part = find(message, chunk.toolCallId); if (part) part.rawInput = (part.rawInput ?? "") + chunk.inputTextDelta; },
  "tool-input-available": tool("input-available", "toolName", "input", "providerMetadata"),
  "tool-input-error": tool("output-error", "toolName", "input", "errorText"),
  "tool-output-available": tool("output-available", "output"),
  "tool-output-error": tool("output-error", "errorText"),
  "tool-output-denied": tool("output-denied"),
  "tool-approval-request": (message, chunk) => { const part = find(message, chunk.toolCallId); if (part) Object.assign(part, { state: "approval-requested", approval: { id: chunk.approvalId } }); },
  "source-url": (message, chunk) => message.parts.push(chunk),
  "file": (message, chunk) => message.parts.push(chunk),
  "message-metadata": (message, chunk) => { message.metadata = { ...message.metadata, ...chunk.messageMetadata }; },
  "finish": (message, chunk) => { if (chunk.messageMetadata) message.metadata = { ...message.metadata, ...chunk.messageMetadata }; },
  "error": (message, chunk) => { message.error = chunk.errorText; },
};

function apply(message, chunk) {
  if (chunk.type.startsWith("data-")) {
    if (chunk.transient) return;
    const old = chunk.id && message.parts.find((part) => part.type === chunk.type && part.id === chunk.id);
    if (old) old.data = chunk.data; else message.parts.push(chunk);
  } else APPLY[chunk.type]?.(message, chunk);
}

// Reading

async function read(url, options, continued) {
  const message = continued ?? { role: "assistant", parts: [] };
  busy(true);
  try {
    const response = await fetch(url, options);
    if (response.status === 204) return true;
    if (!response.ok) return refused(message, await response.json());
    if (!messages.includes(message)) messages.push(message);
    message.error = undefined;
    await readFrames(response.body, (chunk) => { apply(message, chunk); paintSoon(); });
    return true;
  } catch (error) {
    return message.id ? await reconnect(message) : refused(message, { error: { message: "The server cannot be reached." } });
  } finally {
    busy(false);
    paint();
  }
}

function refused(message, body) {
  if (!messages.includes(message)) messages.push(message);
  message.error = body.error?.message ?? "Something went wrong.";
  return false;
}

async function reconnect(message) {
  message.error = "Connection lost. Trying again…";
  paint();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  Object.assign(message, { parts: [], error: message.error });
  return read(`${api}/stream?run=${encodeURIComponent(message.id)}`, {}, message);
}

async function readFrames(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames)
      if (frame.startsWith("data: ") && frame !== "data: [DONE]") take(JSON.parse(frame.slice(6)));
  }
}

const post = (body) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

async function send(text) {
  if (!path && !messages.length) history.replaceState(null, "", `/chat/${chatId}`);
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  messages.push(message);
  paint();
  const chosen = $("agent").value;
  const sent = await read("/api/chat", post({ id: chatId, message, agent: chosen === agent ? undefined : chosen || undefined }));
  if (sent) agent = chosen;
  else if (!$("prompt").value) $("prompt").value = text; // it was not sent: nothing is lost
}

async function answer(message, part, approved) {
  const approval = { id: part.approval.id, approved };
  Object.assign(part, { state: "approval-responded", approval });
  paint();
  await read("/api/chat", post({ id: chatId, messages: [message] }), message);
}

// Painting

function element(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children.filter((child) => child != null));
  return made;
}

const opened = new Map(); // what the person opened or closed stays so
function folded(key, title, state, text, open = false) {
  const details = element("details", { className: "part", open: opened.get(key) ?? open },
    element("summary", {}, title, element("span", { className: "state" }, state)), element("pre", {}, text));
  details.querySelector("summary").addEventListener("click", () => opened.set(key, !details.open));
  return details;
}

const STATES = { "input-streaming": "…", "input-available": "running", "approval-requested": "asks", "approval-responded": "answered", "output-available": "done", "output-error": "failed", "output-denied": "denied" };
const seconds = (part) => part.providerMetadata?.mobox?.durationMs != null ? ` ${(part.providerMetadata.mobox.durationMs / 1000).toFixed(1)}s` : "";
const shown = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);

const PAINT = {
  "text": (part) => element("div", { className: "text" }, part.text),
  "reasoning": (part, message, key) => {
    const thinking = part.providerMetadata?.mobox?.variant === "thinking";
    const live = part.state === "streaming";
    const title = thinking ? (live ? "Thinking…" : "Thought") : live ? "Processing…" : "Processed";
    return folded(key, title, seconds(part), part.text, live);
  },
  "dynamic-tool": (part, message, key) => {
    const input = part.input === undefined ? part.rawInput ?? "" : shown(part.input);
    const result = part.errorText ?? (part.output === undefined ? "" : shown(part.output));
    const card = folded(key, part.toolName, STATES[part.state] ?? part.state, result ? `${input}\n\n→ ${result}` : input, part.state === "approval-requested");
    if (part.state !== "approval-requested") return card;
    const button = (label, approved) => element("button", { type: "button", onclick: () => answer(message, part, approved) }, label);
    return element("div", {}, card, element("div", { className: "ask" }, element("span", {}, `Allow ${part.toolName}?`), button("Allow", true), button("Deny", false)));
  },
  "data-todos": (part) => element("ul", { className: "todos" }, ...(part.data.items ?? part.data.todos ?? []).map((item) => element("li", { className: item.status }, item.content))),
  "source-url": (part) => element("div", { className: "note" }, element("a", { href: part.url, rel: "noreferrer" }, part.title ?? part.url)),
  "file": (part) => part.mediaType.startsWith("image/") && part.url.startsWith("data:") ? element("img", { src: part.url, alt: part.filename ?? "" }) : element("div", { className: "note" }, part.filename ?? part.mediaType),
};

function paintMessage(message, number) {
  if (message.role === "user") {
    const text = message.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
    return element("article", { className: "message user" }, text);
  }
  const parts = message.parts.map((part, index) => PAINT[part.type]?.(part, message, `${number}.${index}`));
  const { reason, error: failure } = message.metadata ?? {};
  const error = message.error ?? failure;
  const end = reason && reason !== "stop" && !error ? element("div", { className: "note" }, `Ended: ${reason}`) : null;
  return element("article", { className: "message" }, ...parts, error ? element("div", { className: "error" }, error) : null, end);
}

let painting = false;
function paintSoon() {
  if (painting) return;
  painting = true;
  requestAnimationFrame(() => { painting = false; paint(); });
}

function paint() {
  const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
  if (messages.length) $("thread").replaceChildren(...messages.map(paintMessage));
  if (atEnd) scrollTo(0, document.body.scrollHeight);
}

function busy(is) {
  $("stop").hidden = !is;
  $("send").hidden = is;
}

// The controls

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("prompt").value.trim();
  if (!text || !$("stop").hidden) return;
  $("prompt").value = "";
  send(text);
});
$("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); $("composer").requestSubmit(); }
});
$("stop").addEventListener("click", () => fetch(`${api}/stop`, post({ runId: messages.at(-1)?.id })));
$("tries").append(...TRIES.map((name) => element("button", { type: "button", onclick: () => send(name) }, name)));
$("chats").addEventListener("toggle", async () => {
  const { chats } = await (await fetch("/api/chats")).json();
  $("chats").querySelector("ul").replaceChildren(...chats.map((chat) => element("li", {}, element("a", { href: `/chat/${encodeURIComponent(chat.id)}` }, chat.title))));
});

const { agents } = await (await fetch("/api/agents")).json();
$("agent").append(...agents.map((agent) => element("option", { value: agent.id }, agent.name)));
$("welcome").hidden = Boolean(path);
if (path) {
  const response = await fetch(`/api/chats/${encodeURIComponent(chatId)}`);
  if (response.ok) {
    const chat = await response.json();
    messages = chat.messages;
    agent = $("agent").value = chat.agent ?? agents[0]?.id;
    document.title = `${chat.title} · Mobox`;
    paint();
    if (chat.activeRun) await read(`${api}/stream?run=${encodeURIComponent(chat.activeRun.id)}`);
  } else $("welcome").hidden = false;
}
