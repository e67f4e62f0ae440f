import { beforeEach, describe, expect, it } from "vitest";
import { queue } from "@/state/queue";
import { life, open, running, texts, whenIdle } from "@/testing/conversation";
import {
  agent,
  chat,
  ENDS,
  json,
  Network,
  type RecordedRequest,
  refusal,
  Stream,
  textChunks,
  user,
} from "@/testing/server";
import { until } from "@/testing/waiting";

let network: Network;
let streams: Stream[];
beforeEach(() => {
  network = new Network();
  streams = [];
  network.on("POST api/chat", (request) => {
    const stream = new Stream(request, `run_${streams.length + 1}`);
    streams.push(stream);
    return stream.response;
  });
});

const posts = () => network.to("POST api/chat");
const wordsOf = ({ body }: RecordedRequest) => body.message.parts[0].text;
const queued = () => queue.get("c1").map(({ text }) => text);
const add = (text: string) => queue.add("c1", { text, files: [], agent: "writer" });

async function working() {
  const conversation = open(true);
  conversation.send("one");
  await until(() => expect(streams).toHaveLength(1));
  streams[0]?.send(...textChunks("Fir", "run_1"));
  await until(() => expect(texts(conversation)).toEqual(["one", "Fir"]));
  return conversation;
}

describe("queued messages", () => {
  it("are sent one after the other, each when the run before has ended", async () => {
    await working();
    add("two");
    add("three");
    streams[0]?.send(...ENDS).end();
    await until(() => expect(posts()).toHaveLength(2));
    expect(posts().map(wordsOf)).toEqual(["one", "two"]);
    expect(posts()[1]?.body.agent).toBe("writer");
    expect(posts()[1]?.body.whenRunning).toBeUndefined();
    await until(() => expect(queued()).toEqual(["three"]));
    streams[1]?.send(...textChunks("Second", "run_2"), ...ENDS).end();
    await until(() => expect(posts().map(wordsOf)).toEqual(["one", "two", "three"]));
    await until(() => expect(queued()).toEqual([]));
  });

  it.each([
    ["was stopped", { reason: "cancelled" }],
    ["failed", { reason: "error", error: "It broke." }],
    ["was interrupted", { reason: "interrupted" }],
  ])("stay where the run %s", async (_, messageMetadata) => {
    const conversation = await working();
    add("two");
    streams[0]?.send({ type: "finish", messageMetadata }).end();
    await whenIdle(conversation);
    expect(posts()).toHaveLength(1);
    expect(queued()).toEqual(["two"]);
  });

  it("stay while the run waits for an answer", async () => {
    network.on("GET api/chats/c1", () => {
      const run = { id: "run_1", status: "waiting", agent: "demo" };
      return json(chat([user("m1", "one")], { activeRun: run }));
    });
    const conversation = await working();
    add("two");
    streams[0]?.send({ type: "finish", finishReason: "tool-calls" }).end();
    await until(() => expect(life(conversation)).toBe("waiting"));
    expect(queued()).toEqual(["two"]);
    expect(posts()).toHaveLength(1);
  });

  it("interrupt the run when they are sent now, whose message is then read as it was stored", async () => {
    network.on("GET api/chats/c1", () =>
      json(chat([user("m1", "one"), { ...agent("run_1", "First, cut") }])),
    );
    const conversation = await working();
    add("two");
    const [first] = queue.get("c1");
    await conversation.sendQueued(first?.id ?? "");
    await until(() => expect(streams).toHaveLength(2));
    expect(posts()[0]?.signal?.aborted, "it is read no more").toBe(true);
    expect(posts()[1]?.body).toMatchObject({ whenRunning: "interrupt", agent: "writer" });
    expect(posts()[1]?.body.message.id).toBe(first?.id);
    expect(posts()[1]?.headers.get("idempotency-key")).toBe(first?.idempotencyKey);
    streams[1]?.send(...textChunks("Second", "run_2"), ...ENDS).end();
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["one", "First, cut", "two", "Second"]);
    expect(queued()).toEqual([]);
  });

  it("are in the queue again where the server refuses them, and sent again on request", async () => {
    const conversation = await working();
    add("two");
    network.on("POST api/chat", () => refusal(429, "too_many_runs", "Too many runs."));
    streams[0]?.send(...ENDS).end();
    await until(() => expect(conversation.state.get().refused?.message).toBe("Too many runs."));
    expect(queued()).toEqual(["two"]);
    expect(posts()).toHaveLength(2);
    const again = new Stream().send(...textChunks("Second", "run_2"), ...ENDS);
    network.on("POST api/chat", () => again.end());
    conversation.state.get().refused?.again?.();
    await until(() => expect(queued()).toEqual([]));
  });

  it("are sent when the chat is opened again after its run has ended, but not twice", async () => {
    add("stored already");
    add("two");
    const [first] = queue.get("c1");
    const there = user(first?.id ?? "", "stored already");
    network.on("GET api/chats/c1", () =>
      json(chat([user("m1", "one"), agent("r1", "first"), there, agent("r2", "second")])),
    );
    open();
    await until(() => expect(posts().map(wordsOf)).toEqual(["two"]));
  });

  it("are sent once, however often that is asked for", async () => {
    const conversation = await working();
    add("two");
    const id = queue.get("c1")[0]?.id ?? "";
    await Promise.all([conversation.sendQueued(id), conversation.sendQueued(id)]);
    await until(() => expect(queued()).toEqual([]));
    expect(posts().map(wordsOf)).toEqual(["one", "two"]);
  });

  it("stay while the first one is edited", async () => {
    const conversation = await working();
    add("two");
    const [first] = queue.get("c1");
    queue.edit(first?.id);
    streams[0]?.send(...ENDS).end();
    await whenIdle(conversation);
    expect(posts()).toHaveLength(1);
    queue.change("c1", first?.id ?? "", "two and a half");
    queue.edit(undefined);
    conversation.sendNext();
    await until(() => expect(posts().map(wordsOf)).toEqual(["one", "two and a half"]));
    expect(posts()[1]?.body.message.id, "other words are another message").not.toBe(first?.id);
  });

  it("wait for the run that goes on when the chat is opened", async () => {
    add("two");
    const stream = new Stream();
    let active: object = running;
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")], active)));
    network.on("GET api/chat/c1/stream", () => stream.response);
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("working"));
    expect(posts()).toHaveLength(0);
    active = {};
    stream.send(...textChunks("First"), ...ENDS).end();
    await until(() => expect(posts().map(wordsOf)).toEqual(["two"]));
  });
});
