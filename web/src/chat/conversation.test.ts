import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { notifyAll, subscribe } from "@/state/tabs";
import {
  answers,
  draftOf,
  leave,
  life,
  open,
  running,
  texts,
  waiting,
  whenIdle,
} from "@/testing/conversation";
import {
  agent,
  chat,
  ENDS,
  json,
  later,
  Network,
  refusal,
  Stream,
  textChunks,
  user,
} from "@/testing/server";
import { until } from "@/testing/waiting";

let network: Network;
beforeEach(() => {
  network = new Network();
});

describe("a chat that is opened", () => {
  it("shows its last messages and what is before them", async () => {
    network.on("GET api/chats/c1", () =>
      json(chat([user("m3", "three"), agent("r3", "third")], { before: "p1" })),
    );
    network.on("GET api/chats/c1/messages", () =>
      json({ messages: [user("m1", "one"), agent("r1", "first")], before: null, activeRun: null }),
    );
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("ready"));
    expect(texts(conversation)).toEqual(["three", "third"]);
    expect(network.requests[0]?.query.get("limit")).toBe("30");
    await conversation.loadOlder();
    expect(texts(conversation)).toEqual(["one", "first", "three", "third"]);
    expect(network.to("GET api/chats/c1/messages")[0]?.query.get("before")).toBe("p1");
    expect(conversation.state.get().before).toBeNull();
  });

  it("knows what the server does before the agent starts, until the run has ended", async () => {
    const stream = new Stream();
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")], running)));
    network.on("GET api/chat/c1/stream", () => stream.response);
    const conversation = open();
    const status = (message: string, kind: string) => {
      return { type: "data-status", transient: true, data: { message, kind } } as const;
    };
    stream.send(status("Installing 45 packages…", "preparation"), status("Thinking", "notice"));
    await until(() => expect(conversation.state.get().doing).toBe("Installing 45 packages…"));
    stream.send(...textChunks("Hello"), ...ENDS).end();
    await whenIdle(conversation);
    expect(conversation.state.get().doing).toBeUndefined();
  });

  it("goes on reading the message that is being written", async () => {
    const stream = new Stream();
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")], running)));
    network.on("GET api/chat/c1/stream", () => stream.response);
    const conversation = open();
    stream.send(...textChunks("Hel"));
    await until(() => expect(texts(conversation)).toEqual(["one", "Hel"]));
    expect(life(conversation)).toBe("working");
    stream.send({ type: "text-delta", id: "t", delta: "lo" }, ...ENDS).end();
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["one", "Hello"]);
  });

  it("is missing where the server does not know it", async () => {
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("missing"));
  });

  it("shows the server's error if it cannot be loaded, and can be retried", async () => {
    network.on("GET api/chats/c1", () => refusal(503, "storage_unavailable", "no storage now"));
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("unreadable"));
    expect(conversation.state.get().refused?.message).toBe("no storage now");
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")])));
    conversation.reload();
    await until(() => expect(texts(conversation)).toEqual(["one"]));
  });

  it("waits for the server where it cannot be reached", async () => {
    network.isDown = true;
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")])));
    const conversation = open();
    await until(() => expect(conversation.state.get().connection).toBe("lost"));
    network.isDown = false;
    window.dispatchEvent(new Event("online"));
    await until(() => expect(texts(conversation)).toEqual(["one"]));
    expect(conversation.state.get().connection).toBe("ok");
  });
});

describe("a message that is sent", () => {
  it("is answered, and the chat has an address as soon as the server took it", async () => {
    const onStarted = vi.fn();
    network.on("POST api/chat", answers("Hello"));
    const conversation = open(true, { onStarted });
    conversation.send("Hi");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["Hi", "Hello"]);
    expect(onStarted).toHaveBeenCalledOnce();
    expect(network.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST api/chat",
    ]);
  });

  it("is given back with the server's words where it was refused, and can be sent again", async () => {
    network.on("POST api/chat", () => refusal(429, "too_many_runs", "try again in 5 s"));
    const conversation = open(true);
    conversation.send("Hi");
    await whenIdle(conversation);
    const { refused } = conversation.state.get();
    expect(refused?.message).toBe("try again in 5 s");
    expect(draftOf("new")).toBe("Hi");
    expect(texts(conversation)).toEqual([]);
    network.on("POST api/chat", answers("Hello"));
    refused?.again?.();
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["Hi", "Hello"]);
    expect(conversation.state.get().refused).toBeUndefined();
    expect(draftOf("new") + draftOf("c1")).toBe("");
    const [first, second] = network.to("POST api/chat");
    expect(second?.body.message.id).toBe(first?.body.message.id);
  });

  it("is sent again with the same key where its arrival is unknown", async () => {
    network.isDown = true;
    network.on("POST api/chat", answers("Hello"));
    const conversation = open(true);
    conversation.send("Hi");
    await until(() => expect(conversation.state.get().connection).toBe("lost"));
    expect(texts(conversation)).toEqual(["Hi"]);
    network.isDown = false;
    window.dispatchEvent(new Event("online"));
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["Hi", "Hello"]);
    const [first, second] = network.to("POST api/chat");
    expect(second?.body).toEqual(first?.body);
    expect(first?.headers.get("idempotency-key")).toBeTruthy();
    expect(second?.headers.get("idempotency-key")).toBe(first?.headers.get("idempotency-key"));
  });

  it("goes to whom it was meant for, also when it is sent again", async () => {
    network.on("POST api/chat", () => refusal(429, "too_many_runs", "try again in 5 s"));
    const conversation = open(true);
    conversation.send("Hi", "writer");
    await whenIdle(conversation);
    network.on("POST api/chat", answers("Hello"));
    conversation.state.get().refused?.again?.();
    await whenIdle(conversation);
    expect(network.to("POST api/chat").map(({ body }) => body.agent)).toEqual(["writer", "writer"]);
    expect(conversation.state.get().agent).toBe("writer");
  });

  it("is given back where the chat is answering already, and that is shown", async () => {
    network.on("POST api/chat", () => refusal(409, "run_active", "a run goes on"));
    network.on("GET api/chats/c1", () => json(chat([user("m9", "sent by another tab")], running)));
    network.on("GET api/chat/c1/stream", answers("answered in another tab"));
    const conversation = open(true);
    conversation.send("Hi");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["sent by another tab", "answered in another tab"]);
    expect(draftOf("new")).toBe("Hi");
  });

  it("is the draft again where the person leaves before the server has it", async () => {
    network.on("GET api/chats/c1", () => json(chat([])));
    network.isDown = true;
    const conversation = open(true);
    conversation.send("Hi");
    await until(() => expect(conversation.state.get().connection).toBe("lost"));
    expect(draftOf("new")).toBe("");
    leave(conversation);
    expect(draftOf("new")).toBe("Hi");
  });

  it("is no draft where it arrives after the person has left, who stays where they are", async () => {
    const { response, answer } = later();
    network.on("POST api/chat", () => response);
    const onStarted = vi.fn();
    const listener = vi.fn();
    onTestFinished(subscribe(listener));
    const conversation = open(true, { onStarted });
    conversation.send("Hi");
    leave(conversation);
    expect(draftOf("new")).toBe("Hi");
    answer(answers("Hello")());
    await until(() => expect(listener).toHaveBeenCalledWith({ about: "turn", chat: "c1" }));
    expect(draftOf("new")).toBe("");
    expect(onStarted).not.toHaveBeenCalled();
  });

  it("keeps its files when its text is edited", async () => {
    const file = { type: "file" as const, url: "/api/files/f", mediaType: "text/plain" };
    const first = user("m1", "one");
    const stored = [{ ...first, parts: [file, ...first.parts] }, agent("r1", "first")];
    network.on("GET api/chats/c1", () => json(chat(stored)));
    network.on("POST api/chat", answers("primo"));
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("ready"));
    conversation.edit("m1", "uno");
    await whenIdle(conversation);
    const [request] = network.to("POST api/chat");
    expect(request?.body.message.parts).toEqual([file, { type: "text", text: "uno" }]);
  });

  it("can be put in other words: what follows goes, and comes back if that is refused", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
    network.on("POST api/chat", () => refusal(429, "too_many_runs", "later"));
    const conversation = open();
    await until(() => expect(texts(conversation)).toEqual(["one", "first"]));
    conversation.edit("m1", "uno");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["one", "first"]);
    network.on("POST api/chat", answers("primo"));
    conversation.edit("m1", "uno");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["uno", "primo"]);
    expect(network.to("POST api/chat").at(-1)?.body.messageId).toBe("m1");
  });

  it("can be answered anew", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
    network.on("POST api/chat", answers("second"));
    const conversation = open();
    await until(() => expect(texts(conversation)).toEqual(["one", "first"]));
    conversation.regenerate();
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["one", "second"]);
    expect(network.to("POST api/chat")[0]?.body).toMatchObject({
      trigger: "regenerate-message",
      messageId: "r1",
    });
  });
});

describe("a question", () => {
  const sendApproval = (stream: Stream) =>
    stream
      .send({ type: "start", messageId: "run_1" })
      .send({
        type: "tool-input-available",
        toolName: "rm",
        toolCallId: "k",
        dynamic: true,
        input: {},
      })
      .send({ type: "tool-approval-request", approvalId: "a1", toolCallId: "k" })
      .send({ type: "finish", finishReason: "tool-calls" })
      .end();

  it("is answered by the message with the answer in it, and the run goes on", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], waiting)));
    network.on("GET api/chat/c1/stream", () => sendApproval(new Stream()));
    network.on("POST api/chat", () =>
      new Stream()
        .send({ type: "start", messageId: "run_1" })
        .send({ type: "tool-output-available", toolCallId: "k", output: "gone", dynamic: true })
        .send(...ENDS.slice(1))
        .end(),
    );
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("waiting"));
    await until(() => expect(conversation.chat.status).toBe("ready"));
    await conversation.decide("a1", { decision: "approved" });
    await whenIdle(conversation);
    const body = network.to("POST api/chat")[0]?.body;
    expect(body).toMatchObject({ messageId: "run_1", message: { id: "run_1" } });
    expect(body.message.parts.at(-1)).toMatchObject({
      state: "approval-responded",
      approval: { id: "a1", approved: true },
    });
    expect(conversation.chat.lastMessage?.parts.at(-1)).toMatchObject({
      state: "output-available",
    });
  });

  const ANSWERS = "POST api/chat/c1/answer";

  it.each([
    [1, { decision: "edited", value: { path: "b" } }],
    [1, { decision: "answered", value: "Nothing there" }],
    [2, { decision: "denied" }],
    [2, { decision: "denied", reason: "No room" }],
  ] as const)("that is one of %i is answered at once by its own route: %j", async (count, reply) => {
    const calls = Array.from({ length: count }, (_, place) => place);
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], waiting)));
    network.on("GET api/chat/c1/stream", () =>
      calls
        .reduce(
          (stream, place) => {
            const id = `k${place}`;
            return stream
              .send({
                type: "tool-input-available",
                toolName: "rm",
                toolCallId: id,
                dynamic: true,
                input: {},
              })
              .send({ type: "tool-approval-request", approvalId: `a${place}`, toolCallId: id });
          },
          new Stream().send({ type: "start", messageId: "run_1" }),
        )
        .send({ type: "finish", finishReason: "tool-calls" })
        .end(),
    );
    network.on(ANSWERS, () => {
      network.on("GET api/chat/c1/stream", answers("Good"));
      return json({ runId: "run_1", status: "running" }, 202);
    });
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("waiting"));
    await until(() => expect(conversation.chat.status).toBe("ready"));
    await conversation.decide("a0", reply);
    await whenIdle(conversation);
    expect(network.to(ANSWERS).map(({ body }) => body)).toEqual([
      { requestId: "a0", ...reply, runId: "run_1" },
    ]);
    expect(network.to("POST api/chat")).toEqual([]);
  });

  it("without a call is answered by its own route, and the stream continues", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], waiting)));
    network.on("GET api/chat/c1/stream", () =>
      new Stream()
        .send({ type: "start", messageId: "run_1" })
        .send({ type: "data-input", id: "q1", data: { prompt: "Which?" } })
        .send({ type: "finish", finishReason: "other" })
        .end(),
    );
    network.on("POST api/chat/c1/answer", () => {
      network.on("GET api/chat/c1/stream", answers("Good choice"));
      return json({ runId: "run_1", status: "running" }, 202);
    });
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("waiting"));
    await until(() => expect(conversation.chat.status).toBe("ready"));
    await conversation.answer("q1", "this one");
    await whenIdle(conversation);
    expect(network.to("POST api/chat/c1/answer")[0]?.body).toEqual({
      requestId: "q1",
      decision: "answered",
      value: "this one",
      runId: "run_1",
    });
    expect(texts(conversation)).toEqual(["Hi", "Good choice"]);
  });

  it("that was answered in another tab shows the answer that counted, and no error", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], waiting)));
    network.on("GET api/chat/c1/stream", () =>
      new Stream()
        .send({ type: "start", messageId: "run_1" })
        .send({ type: "data-input", id: "q1", data: { prompt: "Which?" } })
        .send({ type: "finish", finishReason: "other" })
        .end(),
    );
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("waiting"));
    await until(() => expect(conversation.chat.status).toBe("ready"));
    network.on("GET api/chats/c1", () =>
      json(chat([user("m1", "Hi"), agent("run_1", "Red it is")])),
    );
    network.on("GET api/chat/c1/stream", () => new Response(null, { status: 204 }));
    network.on("POST api/chat/c1/answer", () =>
      json({ runId: "run_1", status: "done", late: true, decision: "answered", value: "red" }),
    );
    await conversation.answer("q1", "blue");
    await whenIdle(conversation);
    expect(texts(conversation)).toEqual(["Hi", "Red it is"]);
    expect(conversation.state.get().refused).toBeUndefined();
  });

  it("still stands where its answer did not arrive", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], waiting)));
    network.on("GET api/chat/c1/stream", () => sendApproval(new Stream()));
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("waiting"));
    await until(() => expect(conversation.chat.status).toBe("ready"));
    network.isDown = true;
    await expect(conversation.answer("q1", "x")).rejects.toThrow();
    expect(life(conversation)).toBe("waiting");
  });
});

describe("another tab", () => {
  it("that sent a message is followed", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
    const conversation = open();
    await until(() => expect(texts(conversation)).toEqual(["one", "first"]));
    const before = conversation.chat.messages[0];
    const messages = [user("m1", "one"), agent("r1", "first"), user("m2", "two")];
    network.on("GET api/chats/c1", () => json(chat(messages, running)));
    network.on("GET api/chat/c1/stream", answers("second"));
    notifyAll({ about: "turn", chat: "c1" });
    await until(() => expect(texts(conversation)).toEqual(["one", "first", "two", "second"]));
    expect(conversation.chat.messages[0]).toBe(before);
  });

  it("that deleted the chat is believed; changes of other chats are ignored", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")])));
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("ready"));
    notifyAll({ about: "deleted", chat: "c2" });
    expect(conversation.state.get().phase).toBe("ready");
    notifyAll({ about: "deleted", chat: "c1" });
    expect(conversation.state.get().phase).toBe("missing");
  });

  it("on another device is noticed when this page is looked at again", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")])));
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("ready"));
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
    document.dispatchEvent(new Event("visibilitychange"));
    await until(() => expect(texts(conversation)).toEqual(["one", "first"]));
  });
});

it("refreshes if another tab sent a message while an answer was read here", async () => {
  const stream = new Stream();
  network.on("GET api/chats/c1", () => json(chat([user("m1", "one")], running)));
  network.on("GET api/chat/c1/stream", () => stream.response);
  const conversation = open();
  stream.send(...textChunks("first"));
  await until(() => expect(texts(conversation)).toEqual(["one", "first"]));
  notifyAll({ about: "turn", chat: "c1" });
  const stored = [user("m1", "one"), agent("run_1", "first"), user("m2", "two")];
  const next = { activeRun: { id: "run_2", status: "running", agent: "demo" } };
  network.on("GET api/chats/c1", () => json(chat(stored, next)));
  const second = new Stream().send(...textChunks("second", "run_2"), ...ENDS);
  network.on("GET api/chat/c1/stream", () => second.end());
  stream.send(...ENDS).end();
  await until(() => expect(texts(conversation)).toEqual(["one", "first", "two", "second"]));
});

describe("another version of a message", () => {
  const old = [user("m1", "one"), agent("r1", "first"), user("m2", "two"), agent("r2", "second")];
  const edited = [user("m1", "eins"), agent("r3", "another first")];
  const versions = ["r2", "r3"].map((runId) => ({ runId, createdAt: 1 }));
  const fork = (chosen: number) => ({ messageId: "m1", role: "user", chosen, versions });

  /** A chat whose first message was edited. */
  async function openEdited(more: object = {}) {
    let chosen = "r3";
    network
      .on("GET api/chats/c1", () => json(chat(chosen === "r3" ? edited : old, more)))
      .on("POST api/chats/c1/branch", ({ body }) => {
        chosen = body.runId;
        return json({ runId: chosen, forks: [fork(chosen === "r3" ? 1 : 0)] });
      });
    const conversation = open();
    await until(() => expect(conversation.state.get().phase).toBe("ready"));
    return conversation;
  }

  it("is shown with all that follows it, and other tabs are told", async () => {
    const heard = vi.fn();
    const channel = new BroadcastChannel("mobox");
    onTestFinished(() => channel.close());
    channel.onmessage = ({ data }) => heard(data);
    const conversation = await openEdited();
    expect(texts(conversation)).toEqual(["eins", "another first"]);
    expect(await conversation.choose("r2")).toBe(true);
    expect(texts(conversation)).toEqual(["one", "first", "two", "second"]);
    expect(conversation.facts.state.get().forks.get("m1")?.chosen).toBe(0);
    await until(() => expect(heard).toHaveBeenCalledWith({ about: "branch", chat: "c1" }));
    expect(await conversation.choose("r3")).toBe(true);
    expect(texts(conversation)).toEqual(["eins", "another first"]);
  });

  it("is not asked for while a run is active", async () => {
    network.on("GET api/chat/c1/stream", () => new Stream().response);
    const conversation = await openEdited(running);
    await until(() => expect(life(conversation)).toBe("working"));
    expect(await conversation.choose("r2")).toBe(false);
    expect(network.to("POST api/chats/c1/branch")).toEqual([]);
    expect(conversation.state.get().refused?.message).toContain("Stop it or let it finish");
  });

  it("stays where it is if another page has started a run", async () => {
    const conversation = await openEdited();
    network.on("POST api/chats/c1/branch", () => refusal(409, "run_active", "a run is active"));
    expect(await conversation.choose("r2")).toBe(false);
    expect(conversation.state.get().refused?.message).toContain("Stop it or let it finish");
    expect(texts(conversation)).toEqual(["eins", "another first"]);
    await until(() => expect(network.to("GET api/chats/c1")).toHaveLength(2));
  });

  it("can be asked for again after a failure", async () => {
    const conversation = await openEdited();
    network.on("POST api/chats/c1/branch", () => refusal(429, "rate_limited", "Too fast."));
    expect(await conversation.choose("r2")).toBe(false);
    expect(conversation.state.get().refused?.message).toBe("Too fast.");
    network.on("POST api/chats/c1/branch", () => json({ forks: [] }));
    conversation.state.get().refused?.again?.();
    await until(() => expect(conversation.state.get().refused).toBeUndefined());
  });
});
