import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { outage } from "@/runs/outage";
import { answers, draftOf, life, open, running, texts, whenIdle } from "@/testing/conversation";
import {
  agent,
  chat,
  json,
  later,
  Network,
  type RecordedRequest,
  Stream,
  textChunks,
  user,
} from "@/testing/server";
import { until } from "@/testing/waiting";

let network: Network;
beforeEach(() => {
  network = new Network();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a connection that breaks", () => {
  it("is made again until the message is whole, which is never doubled", async () => {
    network.on("POST api/chat", () => new Stream().send(...textChunks("Hel")).cut());
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], running)));
    let tries = 0;
    network.on("GET api/chat/c1/stream", () =>
      tries++ === 0 ? new Stream().send(...textChunks("Hello th")).cut() : answers("Hello there")(),
    );
    const conversation = open(true);
    conversation.send("Hi");
    await until(() => expect(conversation.state.get().connection).toBe("lost"));
    expect(life(conversation)).toBe("working");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["Hi", "Hello there"]);
    expect(tries).toBe(2);
    expect(conversation.state.get()).toMatchObject({ connection: "ok", refused: undefined });
  });

  it("is tried less and less often, and at once when the network is back", async () => {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(0); // no jitter
    network.on("POST api/chat", () => new Stream().send(...textChunks("Hel")).cut());
    const conversation = open(true);
    conversation.send("Hi");
    await vi.advanceTimersByTimeAsync(10);
    network.isDown = true;
    const tries = () => network.to("GET api/chats/c1").length;
    await vi.advanceTimersByTimeAsync(500);
    expect(tries()).toBe(1);
    await vi.advanceTimersByTimeAsync(900);
    expect(tries()).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(tries()).toBe(2);
    await vi.advanceTimersByTimeAsync(60_000);
    const before = tries();
    expect(before).toBeLessThan(14);
    network.isDown = false;
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi"), agent("run_1", "Hello")])));
    window.dispatchEvent(new Event("online"));
    await vi.advanceTimersByTimeAsync(10);
    expect(tries()).toBe(before + 1);
    expect(texts(conversation)).toEqual(["Hi", "Hello"]);
    expect(life(conversation)).toBe("idle");
  });

  it("shows what was stored where the run has ended meanwhile", async () => {
    network.on("POST api/chat", () => new Stream().send(...textChunks("Hel")).cut());
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi"), agent("run_1", "Hello")])));
    const conversation = open(true);
    conversation.send("Hi");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["Hi", "Hello"]);
    expect(network.to("GET api/chat/c1/stream")).toEqual([]);
  });
});

describe("a run that fails", () => {
  it("is shown in its message, and nowhere else", async () => {
    const metadata = { reason: "error", error: "It broke." };
    network.on("POST api/chat", () =>
      new Stream()
        .send(...textChunks("Hel"))
        .send({ type: "message-metadata", messageMetadata: metadata })
        .send({ type: "error", errorText: "It broke." })
        .send({ type: "finish", finishReason: "error" })
        .end(),
    );
    const conversation = open(true);
    conversation.send("Hi");
    await whenIdle(conversation);
    expect(conversation.chat.lastMessage?.metadata).toEqual(metadata);
    expect(conversation.state.get().refused).toBeUndefined();
  });

  it("is shown beside its message where that does not contain it", async () => {
    network.on("POST api/chat", () =>
      new Stream()
        .send(...textChunks("Hel"))
        .send({ type: "no-such-chunk" })
        .end(),
    );
    const conversation = open(true);
    conversation.send("Hi");
    await whenIdle(conversation);
    expect(conversation.state.get().refused?.message).toMatch(/validation/i);
  });
});

describe("stopping", () => {
  it("stops the run by its id; the stream reports the end", async () => {
    const stream = new Stream();
    network.on("POST api/chat", () => stream.response);
    network.on("POST api/chat/c1/stop", () => {
      stream.send({ type: "message-metadata", messageMetadata: { reason: "cancelled" } });
      stream.send({ type: "abort", reason: "cancelled" }).end();
      return json({ runId: "run_1", status: "running" }, 202);
    });
    const conversation = open(true);
    conversation.send("Hi");
    stream.send(...textChunks("Hel"));
    await until(() => expect(texts(conversation)).toEqual(["Hi", "Hel"]));
    void conversation.stop();
    await whenIdle(conversation);
    expect(network.to("POST api/chat/c1/stop")[0]?.body).toEqual({ runId: "run_1" });
    expect(texts(conversation)).toEqual(["Hi", "Hel"]);
    expect(network.to("GET api/chats/c1")).toEqual([]);
  });

  it("loads the chat's state where the stream does not end", async () => {
    vi.useFakeTimers();
    const requests: RecordedRequest[] = [];
    network.on("POST api/chat", (request) => {
      requests.push(request);
      return new Stream(request).send(...textChunks("Hel")).response;
    });
    network.on("POST api/chat/c1/stop", () => json({ runId: "run_1", status: "running" }, 202));
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi"), agent("run_1", "Hel")])));
    const conversation = open(true);
    conversation.send("Hi");
    await vi.advanceTimersByTimeAsync(100);
    void conversation.stop();
    await vi.advanceTimersByTimeAsync(4_900);
    expect(life(conversation)).toBe("working");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(life(conversation)).toBe("idle");
    expect(requests[0]?.signal?.aborted).toBe(true);
  });

  it("is requested once, until the run has ended", async () => {
    const stream = new Stream();
    const { response, answer } = later();
    network.on("POST api/chat", () => stream.response);
    network.on("POST api/chat/c1/stop", () => response);
    const conversation = open(true);
    conversation.send("Hi");
    stream.send(...textChunks("Hel"));
    await until(() => expect(texts(conversation)).toEqual(["Hi", "Hel"]));
    void conversation.stop();
    void conversation.stop();
    expect(conversation.state.get().stopping).toBe(true);
    answer(json({ runId: "run_1", status: "running" }, 202));
    stream.send({ type: "message-metadata", messageMetadata: { reason: "cancelled" } });
    stream.send({ type: "abort", reason: "cancelled" }).end();
    await whenIdle(conversation);
    expect(conversation.state.get().stopping).toBe(false);
    expect(network.to("POST api/chat/c1/stop")).toHaveLength(1);
  });

  it("that does not arrive is repeated until it does", async () => {
    const stream = new Stream();
    network.on("POST api/chat", () => stream.response);
    const conversation = open(true);
    conversation.send("Hi");
    stream.send(...textChunks("Hel"));
    await until(() => expect(texts(conversation)).toEqual(["Hi", "Hel"]));
    network.isDown = true;
    void conversation.stop();
    await until(() => expect(outage.get().phase).toBe("failed"));
    expect(conversation.state.get()).toMatchObject({ stopping: true, refused: undefined });
    network.isDown = false;
    network.on("POST api/chat/c1/stop", () => {
      stream.send({ type: "message-metadata", messageMetadata: { reason: "cancelled" } });
      stream.send({ type: "abort", reason: "cancelled" }).end();
      return json({ runId: "run_1", status: "running" }, 202);
    });
    outage.retry();
    await whenIdle(conversation);
    expect(conversation.state.get()).toMatchObject({ stopping: false, refused: undefined });
    expect(outage.get().phase).toBe("none");
  });

  it("of a message that arrived unacknowledged shows how its run ended", async () => {
    const stored = chat([user("m1", "Hi"), agent("run_1", "Hel")]);
    const onStarted = vi.fn();
    network.on("POST api/chat", () => Promise.reject(new TypeError("fetch failed")));
    network.on("POST api/chat/c1/stop", () => json({ runId: "run_1", status: "done" }, 202));
    network.on("GET api/chats/c1", () => json(stored));
    const conversation = open(true, { onStarted });
    conversation.send("Hi");
    await until(() => expect(conversation.state.get().connection).toBe("lost"));
    await conversation.stop();
    expect(texts(conversation)).toEqual(["Hi", "Hel"]);
    expect(draftOf("new") + draftOf("c1")).toBe("");
    expect(onStarted).toHaveBeenCalledOnce();
  });

  it("gives back what was not sent yet", async () => {
    network.isDown = true;
    const conversation = open(true);
    conversation.send("Hi");
    await until(() => expect(conversation.state.get().connection).toBe("lost"));
    await conversation.stop();
    expect(conversation.state.get()).toMatchObject({ life: "idle", connection: "ok" });
    expect(draftOf("new")).toBe("Hi");
    expect(texts(conversation)).toEqual([]);
  });
});
