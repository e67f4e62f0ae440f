// The peer in Node: the AI SDK's own way from stream parts to Server-Sent Events.
//
// It starts where streamText would have ended: the parts are made before anything is timed. What is
// timed is `toUIMessageStream` piped through `JsonToSseTransformStream`, read to its end; the
// strings are not encoded to bytes.
//
// The first line on stdin is the workload, a JSON array of raw events. Each later line is a request,
// and its answer is one line of JSON on stdout:
//   "body"     the whole stream, as a string
//   a number   go over the parts so many times; the CPU seconds of this process that took

import { createInterface } from "node:readline";

const home = new URL("../tests/clients/node_modules/ai/", import.meta.url);
const { toUIMessageStream, JsonToSseTransformStream } = await import(new URL("dist/index.js", home));

function* partsOf(events) {
  yield { type: "start" };
  let id, text, block, message;
  for (const event of events) {
    switch (event.type) {
      case "message_start":
        message = event.message.id;
        yield { type: "start-step", request: {}, warnings: [] };
        break;
      case "content_block_start":
        block = event.content_block;
        id = block.id ?? `${message}:${event.index}`;
        text = "";
        if (block.type === "text") yield { type: "text-start", id };
        else if (block.type === "thinking") yield { type: "reasoning-start", id };
        else yield { type: "tool-input-start", id, toolName: block.name };
        break;
      case "content_block_delta":
        yield* deltaOf(event.delta, id);
        text += event.delta.partial_json ?? "";
        break;
      case "content_block_stop":
        if (block.type === "text") yield { type: "text-end", id };
        else if (block.type === "thinking") yield { type: "reasoning-end", id };
        else {
          const call = { toolCallId: id, toolName: block.name, input: JSON.parse(text) };
          yield { type: "tool-input-end", id };
          yield { type: "tool-call", ...call };
          yield { type: "tool-result", ...call, output: "ok" };
        }
        break;
      case "message_delta":
        yield { type: "finish-step", finishReason: event.delta.stop_reason, usage: event.usage };
        break;
    }
  }
  yield { type: "finish", finishReason: "stop" };
}

function* deltaOf(delta, id) {
  switch (delta.type) {
    case "text_delta":
      yield { type: "text-delta", id, text: delta.text };
      break;
    case "thinking_delta":
      yield { type: "reasoning-delta", id, text: delta.thinking };
      break;
    case "input_json_delta":
      yield { type: "tool-input-delta", id, delta: delta.partial_json };
      break;
    case "citations_delta": {
      const { url, title } = delta.citation;
      yield { type: "source", sourceType: "url", id: url, url, title };
    }
  }
}

function source(parts) {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next < parts.length) controller.enqueue(parts[next++]);
      else controller.close();
    },
  });
}

async function convert(parts, take) {
  const reader = toUIMessageStream({ stream: source(parts), sendSources: true })
    .pipeThrough(new JsonToSseTransformStream())
    .getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) take(read.value);
}

async function body(parts) {
  const frames = [];
  await convert(parts, (frame) => frames.push(frame));
  return frames.join("");
}

async function spend(parts, passes) {
  const start = process.cpuUsage();
  for (let pass = 0; pass < passes; pass++) await convert(parts, () => {});
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

let parts = null;
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (parts === null) parts = [...partsOf(request)];
  else {
    const answer = request === "body" ? await body(parts) : await spend(parts, request);
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}
