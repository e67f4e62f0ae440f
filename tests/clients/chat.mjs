// Chats of the real AI SDK clients: `AbstractChat` with `DefaultChatTransport`, many in one process.
//
// A request is one line of JSON on stdin, its answer one line on stdout, in order:
//   {"id", "do": "open", "chat", "client", "api", "chatId", "messages", "run"?, "auto"?, "tools"?, "agent"?}
//   {"id", "do": "begin", "chat", "call": "sendMessage", "args": [{"text": "Hi"}], "cut"?}
//   {"id", "do": "read", "chat", "frames"}   answered when so many frames of a response were read
//   {"id", "do": "settle", "chat"}           answered when nothing is under way any more
//   {"id", "do": "close", "chat"}
//
// `tools` are those that the page runs, each with what it gives: {"locate": {"lat": 1}}.
//
// `begin` does not wait, so that one line can act while another chat reads. `cut` lets the next
// response break off after so many frames: {"after": 3, "how": "end"} as if it were over, any other
// `how` as a connection that dies with these words.

import { createInterface } from "node:readline";

console.log = console.error; // stdout is for answers: a client's own warnings must not mix in

const encoder = new TextEncoder();

/** Wakes whoever waits for something to change. */
class Bell {
  #waiting = [];
  ring() {
    for (const wake of this.#waiting.splice(0)) wake();
  }
  next() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** What a framework's store is to a chat, without the framework. */
class State {
  error = undefined;
  #status = "ready";
  constructor(messages, bell) {
    this.messages = messages;
    this.bell = bell;
  }
  get status() {
    return this.#status;
  }
  set status(status) {
    this.#status = status;
    this.bell.ring();
  }
  pushMessage(message) {
    this.messages = [...this.messages, message];
  }
  popMessage() {
    this.messages = this.messages.slice(0, -1);
  }
  replaceMessage(index, message) {
    this.messages = this.messages.with(index, { ...message, parts: [...message.parts] });
  }
  snapshot(value) {
    return structuredClone(value);
  }
}

/** The chat's way to the server; it hands on one frame at a time, and knows where to break off. */
class Wire {
  cut = null;
  requests = [];

  constructor(bell) {
    this.bell = bell;
  }

  fetch = async (url, init) => {
    const [request, cut] = [{ method: init.method, url, frames: 0 }, this.cut];
    this.cut = null;
    this.requests.push(request);
    let response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      this.#end(request);
      throw error;
    }
    const { status, headers } = response;
    const [run, code] = ["x-mobox-run", "x-mobox-error"].map((name) => headers.get(name));
    Object.assign(request, { status, run, code });
    if (response.ok && response.body) {
      return new Response(this.#frames(response.body, request, cut), { status, headers });
    }
    this.#end(request);
    return response;
  };

  /** Resolves when the last response has come so far, or can come no further. */
  async read(frames) {
    const last = () => this.requests.at(-1) ?? { frames: 0 };
    while (last().frames < frames && !last().over) await this.bell.next();
    return last().frames;
  }

  get isAtRest() {
    return this.requests.every((request) => request.over);
  }

  #end(request) {
    request.over = true;
    this.bell.ring();
  }

  /** The body as it comes; one that dies, frame by frame, lest its last frames die in a queue. */
  #frames(body, request, cut) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let held = "";
    const pull = async (controller) => {
      if (cut && request.frames >= cut.after) {
        await reader.cancel();
        this.#end(request);
        return cut.how === "end" ? controller.close() : controller.error(new TypeError(cut.how));
      }
      while (!held.includes("\n\n")) {
        const { done, value } = await reader.read();
        if (done) {
          Object.assign(request, { rest: held });
          this.#end(request);
          return controller.close();
        }
        held += value;
      }
      const most = !cut ? Infinity : cut.how === "end" ? cut.after - request.frames : 1;
      const [told, frames] = takeFrames(held, most);
      controller.enqueue(encoder.encode(told));
      request.frames += frames;
      held = held.slice(told.length);
      this.bell.ring();
    };
    const fail = (error) => {
      this.#end(request);
      throw error;
    };
    const cancel = (reason) => {
      this.#end(request);
      return reader.cancel(reason);
    };
    return new ReadableStream(
      { pull: (controller) => pull(controller).catch(fail), cancel },
      { highWaterMark: 0 },
    );
  }
}

/** The whole frames at the beginning of a text, and how many they are; comments do not count. */
function takeFrames(text, most) {
  let [end, frames] = [0, 0];
  for (let next; frames < most && (next = text.indexOf("\n\n", end)) >= 0; end = next + 2) {
    if (text.startsWith("data:", end)) frames++;
  }
  return [text.slice(0, end), frames];
}

/** What docs/ai-sdk.md recommends where other calls may be open when a person is asked. */
function allAnswered({ messages }) {
  const parts = messages.at(-1)?.parts ?? [];
  const step = parts.slice(parts.findLastIndex((part) => part.type === "step-start") + 1);
  const approvals = parts.map((part) => part.state);
  const questions = step.filter((part) => part.type === "tool-ask_user").map((part) => part.state);
  const isOpen = approvals.includes("approval-requested") || questions.includes("input-available");
  return !isOpen && (approvals.includes("approval-responded") || questions.length > 0);
}

/** The client's guide: a page runs the tools that it knows, and none that are dynamic. */
function toolRunner(session, tools) {
  return ({ toolCall }) => {
    if (toolCall.dynamic) return;
    const { toolName: tool, toolCallId } = toolCall;
    if (tool in tools) session.chat.addToolOutput({ tool, toolCallId, output: tools[tool] });
  };
}

class Session {
  constructor(ai, { api, chatId, messages, run, auto, tools, agent }) {
    class Chat extends ai.AbstractChat {}
    this.ai = ai;
    this.bell = new Bell();
    this.wire = new Wire(this.bell);
    this.failure = null;
    this.begun = Promise.resolve();
    const [path, query] = api.split("?");
    const resumeAt = `${path}/${encodeURIComponent(chatId)}/stream?${query}&run=${run}`;
    this.chat = new Chat({
      id: chatId,
      state: new State(messages, this.bell),
      transport: new ai.DefaultChatTransport({
        api,
        body: agent && { agent },
        fetch: this.wire.fetch,
        prepareReconnectToStreamRequest: run ? () => ({ api: resumeAt }) : undefined,
      }),
      onToolCall: tools && toolRunner(this, tools),
      sendAutomaticallyWhen:
        auto === "all answered" ? allAnswered : auto && ai[`lastAssistantMessage${auto}`],
    });
  }

  begin({ call, args = [], cut = null }) {
    this.wire.cut = cut;
    const called = this.chat[call](...args);
    this.begun = called.catch((error) => (this.failure = String(error)));
  }

  /** Some calls go on after their promise is kept: a chat that answers by itself tells nobody. */
  async settle() {
    await this.begun;
    for (let calm = 0; calm < 3; calm = this.#isAtRest() ? calm + 1 : 0) {
      if (!this.#isAtRest()) await this.bell.next();
      await new Promise(setImmediate);
    }
    const { messages, status, error } = this.chat;
    return {
      messages,
      status,
      error: error ? String(error.message) : this.failure,
      invalid: await this.#invalid(messages),
      requests: this.wire.requests,
    };
  }

  #isAtRest() {
    return this.wire.isAtRest && ["ready", "error"].includes(this.chat.status);
  }

  async #invalid(messages) {
    if (!messages.every((message) => message.parts.length)) return null;
    const result = await this.ai.safeValidateUIMessages({ messages });
    return result.success ? null : String(result.error);
  }
}

const sessions = new Map();
const ACTIONS = {
  open: async (request) => {
    sessions.set(request.chat, new Session(await import(request.client), request));
  },
  begin: (request) => sessions.get(request.chat).begin(request),
  read: (request) => sessions.get(request.chat).wire.read(request.frames),
  settle: (request) => sessions.get(request.chat).settle(),
  close: async (request) => {
    const session = sessions.get(request.chat);
    sessions.delete(request.chat);
    await session.chat.stop();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await (async () => ({ ok: true, value: await ACTIONS[request.do](request) }))().catch(
    (error) => ({ ok: false, error: String(error.stack) }),
  );
  process.stdout.write(JSON.stringify({ id: request.id, ...answer }) + "\n");
}
process.exit(0); // whatever is still being read, nobody wants it any more
