// Reads streams with the real AI SDK clients, many in one process.
//
// A request is one line of JSON on stdin, its answer one line on stdout, in order:
//   {"id", "client": "ai-v6", "sse": "the whole body"}  or  {"id", "client", "chunks": ["{…}", …]}
//   {"id", "ok", "error", "errorText", "message"}
//   {"id", "client", "groups": [["{…}", …], …]}
//   {"id", "ok", "error", "errorText", "message", "after": […]}
//
// `after` has, for each group of chunks, the message that the client shows when it has read it, or
// null where it is what it was.
//
// `error` says why the client refused the stream: a chunk its schema does not know, a chunk its
// state machine did not expect, or a message it would not take back from storage. `errorText` is
// that of an error chunk, which is the server's word and no fault of the stream; the client ends
// the turn there, so what follows it is checked against the schema but not read.

import { createInterface } from "node:readline";

console.log = console.error; // stdout is for answers: a client's own warnings must not mix in

function toBytes({ sse, chunks }) {
  const body = sse ?? chunks.map((chunk) => `data: ${chunk}\n\n`).join("");
  return new Blob([body]).stream();
}

async function parse(ai, request) {
  const results = ai.parseJsonEventStream({
    stream: toBytes(request),
    schema: ai.uiMessageChunkSchema,
  });
  const chunks = [];
  for await (const result of results) {
    if (!result.success) throw result.error;
    chunks.push(result.value);
  }
  return chunks;
}

async function replay(ai, chunks, show = () => {}) {
  const stream = ReadableStream.from(chunks);
  let last = null;
  for await (const message of ai.readUIMessageStream({ stream, terminateOnError: true })) {
    last = message;
    show(message);
  }
  return last;
}

async function validate(ai, message) {
  if (!message?.parts.length) return; // no client takes an empty message back
  const result = await ai.safeValidateUIMessages({ messages: [message] });
  if (!result.success) throw result.error;
}

async function readWhole(request) {
  const ai = await import(request.client);
  const chunks = await parse(ai, request);
  const end = chunks.findIndex((chunk) => chunk.type === "error");
  const message = await replay(ai, end < 0 ? chunks : chunks.slice(0, end));
  await validate(ai, message);
  return { ok: true, error: null, errorText: chunks[end]?.errorText ?? null, message };
}

async function readGroups({ client, groups }) {
  const ai = await import(client);
  const parsed = [];
  for (const group of groups) parsed.push(group.length ? await parse(ai, { chunks: group }) : []);
  const failed = parsed.flat().find((chunk) => chunk.type === "error");
  const after = [];
  let last = null;
  async function* told() {
    let isOver = false;
    for (const chunks of parsed) {
      const before = last;
      for (const chunk of chunks) {
        isOver ||= chunk === failed;
        if (!isOver) yield chunk; // goes on when the client wants more,
      }
      await new Promise(setImmediate); // and has handed out what it made of this
      if (last !== before) await validate(ai, last);
      after.push(last === before ? null : last);
    }
  }
  const message = await replay(ai, told(), (shown) => (last = shown));
  return { ok: true, error: null, errorText: failed?.errorText ?? null, message, after };
}

const read = (request) => (request.groups ? readGroups : readWhole)(request);

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await read(request).catch((error) => ({
    ok: false,
    error: String(error),
    errorText: null,
    message: null,
  }));
  process.stdout.write(JSON.stringify({ id: request.id, ...answer }) + "\n");
}
