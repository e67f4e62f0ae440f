// Pages of the real AG-UI clients, `HttpAgent` and CopilotKit's core, many in one process.
//
// A request is one line of JSON on stdin, its answer one line on stdout, in order:
//   {"id", "do": "open", "page", "client", "url", "threadId", "agent"?, "tools"?}
//   {"id", "do": "begin", "page", "call": "run", "text"?, "with"?}   does not wait
//   {"id", "do": "read", "page", "events", "type"?}   answered when so many events were read
//   {"id", "do": "settle", "page"}           answered when nothing is under way any more
//   {"id", "do": "result", "page", "toolCallId", "content"}
//   {"id", "do": "change", "page", "state"}
//   {"id", "do": "abort", "page"}

import { createInterface } from "node:readline";

console.log = console.error; // stdout is for answers
const warnings = [];
console.warn = (...words) => warnings.push(words.map(String).join(" ").split("\n")[0]);
// A body that breaks off is told twice: to whoever asked, and to nobody.
process.on("unhandledRejection", (error) => console.warn("thrown at nobody:", error.message));

let names = 0;
const newId = (kind) => `${kind}-${process.pid}-${++names}`;

/** What a page saw, and who waits for more of it. */
class Seen {
  events = [];
  failure = null;
  ending = {};
  #waiting = [];

  watch(agent) {
    agent.subscribe({
      onEvent: ({ event }) => {
        this.events.push(event.type);
        for (const wake of this.#waiting.splice(0)) wake();
      },
      onRunFinishedEvent: ({ event }) => (this.ending = event),
      onRunErrorEvent: ({ event }) => (this.ending = event),
    });
  }

  async until(events, type) {
    const read = () => this.events.filter((each) => type === undefined || each === type).length;
    while (read() < events) await new Promise((wake) => this.#waiting.push(wake));
  }
}

class HttpPage {
  static async open({ client, url, threadId, messages = [], state = {} }) {
    const { HttpAgent } = await import(client);
    return new HttpPage(new HttpAgent({ url, threadId, initialMessages: messages, initialState: state }));
  }

  constructor(agent) {
    this.agent = agent;
    this.seen = new Seen();
    this.seen.watch(agent);
    this.begun = Promise.resolve();
  }

  begin({ text, with: parameters = {} }) {
    this.seen.ending = {};
    this.seen.failure = null;
    if (text !== undefined) this.agent.addMessage({ id: newId("user"), role: "user", content: text });
    const called = this.agent.runAgent({ tools: [], ...parameters });
    this.begun = called.catch((error) => (this.seen.failure = String(error.message)));
  }

  result({ toolCallId, content }) {
    this.agent.addMessage({ id: newId("tool"), role: "tool", toolCallId, content });
  }

  abort() {
    this.agent.abortRun();
  }

  async settle() {
    await this.begun;
    const { messages, state } = this.agent;
    const interrupts = this.agent.pendingInterrupts ?? [];
    const { events, failure, ending } = this.seen;
    return { messages, state, interrupts, events, failure, ending, warnings: warnings.splice(0) };
  }
}

class CopilotPage extends HttpPage {
  static async open({ url, threadId, agent: agentId = "default", tools = {}, options = {} }) {
    globalThis.window ??= { location: new URL(url) }; // without a window it asks nobody anything
    const { CopilotKitCore } = await import("@copilotkit/core");
    const core = new CopilotKitCore({ runtimeUrl: url, ...options });
    const failures = [];
    const connected = new Promise((resolve, reject) => {
      core.subscribe({
        onError: ({ error }) => {
          failures.push(String(error.message));
          reject(error); // has no effect once it is connected
        },
        onAgentsChanged: () => core.getAgent(agentId) && resolve(),
      });
    });
    for (const [name, value] of Object.entries(tools)) {
      // A person's answer is waited for again where the page is loaded again.
      const type = value.asksPeople ? "human-in-the-loop" : undefined;
      core.addTool({ name, description: name, type, handler: async () => value });
    }
    await connected;
    const agent = core.getAgent(agentId);
    agent.threadId = threadId;
    const page = new CopilotPage(agent);
    return Object.assign(page, { core, failures });
  }

  begin({ call, text, with: parameters = {} }) {
    this.seen.ending = {};
    if (text !== undefined) this.agent.addMessage({ id: newId("user"), role: "user", content: text });
    const called = this.core[call === "run" ? "runAgent" : "connectAgent"]({ agent: this.agent, ...parameters });
    this.begun = called.catch((error) => this.failures.push(String(error)));
  }

  abort() {
    this.core.stopAgent({ agent: this.agent });
  }

  async settle() {
    await this.begun; // and a run that the core has begun by itself
    while (this.agent.isRunning) await new Promise(setImmediate);
    const report = await super.settle();
    const agents = Object.keys(this.core.agents);
    return { ...report, agents, failure: this.failures.splice(0).join("; ") || null };
  }
}

const pages = new Map();
const ACTIONS = {
  open: async (request) => {
    const kind = request.client === "copilotkit" ? CopilotPage : HttpPage;
    pages.set(request.page, await kind.open(request));
  },
  begin: (request) => pages.get(request.page).begin(request),
  read: (request) => pages.get(request.page).seen.until(request.events, request.type),
  settle: (request) => pages.get(request.page).settle(),
  result: (request) => pages.get(request.page).result(request),
  change: (request) => pages.get(request.page).agent.setState(request.state),
  abort: (request) => pages.get(request.page).abort(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await (async () => ({ ok: true, value: await ACTIONS[request.do](request) }))().catch(
    (error) => ({ ok: false, error: String(error.stack) }),
  );
  process.stdout.write(JSON.stringify({ id: request.id, ...answer }) + "\n");
}
process.exit(0); // whatever is still being read, nobody wants it any more
