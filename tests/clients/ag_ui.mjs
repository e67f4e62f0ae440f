// Reads streams with the real AG-UI clients, many in one process.
//
// A request is one line of JSON on stdin, its answer one line on stdout, in order:
//   {"id", "client": "@ag-ui/client", "groups": [["{…}", …], …], "messages": [what it has before]}
//   {"id", "error", "after": […], "messages", "state", "outcome", "interrupts", "pending",
//    "runError", "warnings"}
//
// `after` has, for each group of events, the messages that the client has when it has read it, or
// null where they are what they were. `error` says why the client refused the stream; `warnings`
// what it took, but not as it came.

import { createInterface } from "node:readline";

const warnings = [];
console.log = console.error; // stdout is for answers
console.warn = (...words) => warnings.push(words.map(String).join(" ").split("\n")[0]);

let body = "";
globalThis.fetch = async () =>
  new Response(body, { headers: { "content-type": "text/event-stream" } });

function watch(agent, groups) {
  const ends = new Map(); // after how many events which groups are read
  let count = 0;
  groups.forEach((group, index) => {
    count += group.length;
    ends.set(count, [...(ends.get(count) ?? []), index]);
  });
  const seen = { after: groups.map(() => null), events: 0 };
  let last = "[]";
  const keep = (messages) => {
    const now = JSON.stringify(messages);
    const [first] = ends.get(seen.events) ?? [];
    if (first === undefined || now === last) return;
    last = now;
    seen.after[first] = JSON.parse(now);
  };
  // An event is announced before it is applied: what there is then is what came of those before it.
  agent.subscribe({
    onEvent: ({ messages }) => {
      keep(messages);
      seen.events++;
    },
    onRunFinishedEvent: (told) => {
      seen.outcome = told.outcome;
      seen.pending = told.event.outcome?.pendingToolCallIds;
      seen.usage = told.event.usage;
    },
    onRunErrorEvent: ({ event }) => (seen.runError = event.message),
  });
  return { seen, keep };
}

async function read({ client, groups, messages = [] }) {
  const { HttpAgent } = await import(client);
  body = groups.flat().map((document) => `data: ${document}\n\n`).join("");
  const agent = new HttpAgent({ url: "http://127.0.0.1/", initialMessages: messages });
  const { seen, keep } = watch(agent, groups);
  await agent.runAgent();
  keep(agent.messages);
  return {
    error: null,
    after: seen.after,
    messages: agent.messages,
    state: agent.state,
    outcome: seen.outcome ?? null,
    interrupts: agent.pendingInterrupts ?? [],
    pending: seen.pending ?? null,
    usage: seen.usage ?? null,
    runError: seen.runError ?? null,
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  warnings.length = 0;
  const answer = await read(request).catch((error) => ({ error: String(error) }));
  process.stdout.write(JSON.stringify({ id: request.id, ...answer, warnings }) + "\n");
}
