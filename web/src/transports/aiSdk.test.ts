import type { UIMessage, UIMessageChunk } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { agent, type Chunk, ENDS, Network, Stream, textChunks, user } from "@/testing/server";
import { AiSdkTransport } from "@/transports/aiSdk";
import { Broken, cutAfter } from "@/transports/broken";

let network: Network;
beforeEach(() => {
  network = new Network();
});
afterEach(() => {
  document.head.replaceChildren();
  vi.useRealTimers();
});

const transport = (onAccepted = (_: string | undefined) => {}) => new AiSdkTransport(onAccepted);

async function post(messages: UIMessage[], more: object = {}) {
  network.on("POST api/chat", () => new Stream().send(...textChunks("Hi"), ...ENDS).end());
  const stream = await transport().sendMessages({
    chatId: "c1",
    messages,
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
    ...more,
  });
  await read(stream);
  return network.requests[0];
}

async function read(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

describe("what is sent", () => {
  const before = [user("m1", "one"), agent("run_1", "first"), user("m2", "two")];

  it("is the last message alone, with what is done with it", async () => {
    const request = await post(before);
    expect(request?.body).toEqual({ id: "c1", trigger: "submit-message", message: before[2] });
    expect(request?.query.get("profile")).toBe("page");
  });

  it("asks for errors as JSON", async () => {
    const request = await post(before);
    expect(request?.headers.get("accept")).toContain("application/json");
    network.on("GET api/chat/c1/stream", () => new Response(null, { status: 204 }));
    await transport().reconnectToStream({ chatId: "c1" });
    expect(network.requests.at(-1)?.headers.get("accept")).toContain("application/json");
  });

  it("names the message that an edit takes the place of", async () => {
    const request = await post(before, { messageId: "m2" });
    expect(request?.body).toMatchObject({ messageId: "m2", message: { id: "m2" } });
  });

  it("distinguishes a regeneration from a message that is sent twice", async () => {
    const request = await post(before, { trigger: "regenerate-message", messageId: "run_2" });
    expect(request?.body).toMatchObject({ trigger: "regenerate-message", messageId: "run_2" });
    expect(request?.body.message.id).toBe("m2");
  });

  it("is the message with the answers where an earlier one is continued", async () => {
    const request = await post(before, { messageId: "run_1" });
    expect(request?.body.message).toEqual(before[1]);
  });

  it("names the agent that was chosen, and no other", async () => {
    expect((await post(before, { body: { agent: "writer" } }))?.body.agent).toBe("writer");
    network.requests.length = 0;
    expect((await post(before))?.body).not.toHaveProperty("agent");
  });

  it("goes to where the page is, below whatever path", async () => {
    const base = document.createElement("base");
    base.href = "http://localhost:3000/below/here/";
    document.head.append(base);
    network.on("POST below/here/api/chat", () => new Stream().send(...ENDS).end());
    network.on("GET below/here/api/chat/a%2Fb/stream", () => new Response(null, { status: 204 }));
    await transport().sendMessages({
      chatId: "c1",
      messages: before,
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: undefined,
    });
    expect(await transport().reconnectToStream({ chatId: "a/b" })).toBeNull();
    expect(network.requests.map(({ path }) => path)).toEqual([
      "below/here/api/chat",
      "below/here/api/chat/a%2Fb/stream",
    ]);
  });

  it("is accepted as soon as the response starts, with the run's id", async () => {
    const runs: (string | undefined)[] = [];
    network.on("POST api/chat", () => new Stream(undefined, "run_9").send(...ENDS).end());
    await transport((run) => runs.push(run)).sendMessages({
      chatId: "c1",
      messages: before,
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: undefined,
    });
    expect(runs).toEqual(["run_9"]);
  });
});

describe("a response", () => {
  const reading = async (...chunks: Chunk[]) => {
    network.on("GET api/chat/c1/stream", () => new Stream().send(...chunks).cut());
    const stream = await transport().reconnectToStream({ chatId: "c1" });
    return read(stream as ReadableStream<UIMessageChunk>);
  };

  it("that stops before its end is broken, as a lost connection is to the SDK", async () => {
    const broken = await reading(...textChunks("Hi")).catch((error: unknown) => error);
    expect(broken).toBeInstanceOf(TypeError);
    expect((broken as Error).message).toContain("network");
  });

  it.each([
    ["finish", { type: "finish", finishReason: "stop" }],
    ["abort", { type: "abort", reason: "cancelled" }],
    ["error", { type: "error", errorText: "no" }],
  ])("that ends with %s is complete", async (_, last) => {
    expect((await reading(...textChunks("Hi"), last)).at(-1)).toMatchObject(last);
  });

  it("that falls silent for longer than heartbeats take is broken", async () => {
    vi.useFakeTimers();
    let out: ReadableStreamDefaultController<Uint8Array> | undefined;
    const bytes = new ReadableStream<Uint8Array>({
      start: (controller) => {
        out = controller;
      },
    });
    const reader = cutAfter(30_000, bytes).getReader();
    const first = reader.read();
    await vi.advanceTimersByTimeAsync(29_000);
    out?.enqueue(new TextEncoder().encode(":\n\n"));
    expect((await first).done).toBe(false);
    const second = reader.read().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await second).toBeInstanceOf(Broken);
  });
});
