import { act, renderHook } from "@testing-library/react";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { outage } from "@/runs/outage";
import { NEW_CHAT, useDraft } from "@/state/drafts";
import {
  answers,
  draftOf,
  leave,
  life,
  open,
  texts,
  waiting,
  whenIdle,
} from "@/testing/conversation";
import { agent, chat, json, Network, Stream, user } from "@/testing/server";
import { until } from "@/testing/waiting";

let network: Network;
beforeEach(() => {
  network = new Network();
});

const failed = () => until(() => expect(outage.get().phase).toBe("failed"));
const type = (chat: string, text: string) => {
  const { result } = renderHook(() => useDraft(chat));
  act(() => result.current[1](text));
};
const POST = "POST api/chat";
const keyOf = (request?: { headers: Headers }) => request?.headers.get("idempotency-key");

/** The server stores the message, and dies before it answers. */
const storeSilently = () =>
  network.on(POST, ({ body }) => {
    network.on("GET api/chats/c1", () => json(chat([body.message, agent("run_1", "Hello")])));
    network.isDown = true;
    return Promise.reject(new TypeError("fetch failed"));
  });

describe("a message that cannot be sent", () => {
  it.each([
    ["the user retries", outage.retry],
    ["the network is back", () => window.dispatchEvent(new Event("online"))],
    ["the tab becomes visible", () => document.dispatchEvent(new Event("visibilitychange"))],
  ])("is sent at once when %s, once", async (_, notify) => {
    network.isDown = true;
    network.on(POST, answers("Hello"));
    const conversation = open(true);
    conversation.send("Hi");
    await failed();
    expect(conversation.state.get()).toMatchObject({ unsent: "message", life: "working" });
    vi.useFakeTimers(); // no delay ends by itself
    onTestFinished(() => void vi.useRealTimers());
    network.isDown = false;
    notify();
    await vi.advanceTimersByTimeAsync(0);
    expect(life(conversation)).toBe("idle");
    expect(texts(conversation)).toEqual(["Hi", "Hello"]);
    expect(conversation.state.get().unsent).toBeUndefined();
    expect(new Set(network.to(POST).map(keyOf)).size).toBe(1);
    expect(outage.get().phase).toBe("none");
  });

  it("is taken back by a stop, with what was typed since, and the page says so", async () => {
    network.isDown = true;
    const conversation = open(true);
    conversation.send("Hi");
    await failed();
    type(NEW_CHAT, "And");
    await conversation.stop();
    expect(conversation.state.get()).toMatchObject({ takenBack: true, life: "idle" });
    expect(draftOf(NEW_CHAT)).toBe("Hi\n\nAnd");
    expect(outage.get().phase).toBe("none");
  });

  it("is the same message when its text is sent again, whether it arrived or not", async () => {
    network.isDown = true;
    const conversation = open(true);
    conversation.send("Hi");
    await failed();
    await conversation.stop();
    network.isDown = false;
    network.on(POST, answers("Hello"));
    conversation.send("Hi");
    await whenIdle(conversation);
    const [first, second] = network.to(POST);
    expect(second?.body).toEqual(first?.body);
    expect(keyOf(second)).toBe(keyOf(first));
    conversation.send("Hi");
    await whenIdle(conversation);
    expect(keyOf(network.to(POST).at(-1))).not.toBe(keyOf(first));
  });

  it("is another message when its text was changed", async () => {
    network.isDown = true;
    const conversation = open(true);
    conversation.send("Hi");
    await failed();
    await conversation.stop();
    network.isDown = false;
    network.on(POST, answers("Hello"));
    conversation.send("Hi there");
    await whenIdle(conversation);
    const [first, second] = network.to(POST);
    expect(second?.body.message.id).not.toBe(first?.body.message.id);
    expect(keyOf(second)).not.toBe(keyOf(first));
  });

  it("is no draft where the server had stored it", async () => {
    network.on("GET api/chats/c1", () => json(chat([])));
    const first = open();
    await until(() => expect(first.state.get().phase).toBe("ready"));
    storeSilently();
    first.send("Hi");
    await failed();
    leave(first);
    expect(draftOf("c1")).toBe("Hi");
    network.isDown = false;
    const again = open();
    await until(() => expect(texts(again)).toEqual(["Hi", "Hello"]));
    expect(draftOf("c1")).toBe("");
  });

  it("opens the new chat that the server had stored it in", async () => {
    const onStarted = vi.fn();
    storeSilently();
    const first = open(true);
    first.send("Hi");
    await failed();
    leave(first);
    expect(draftOf(NEW_CHAT)).toBe("Hi");
    network.isDown = false;
    const again = open(true, { onStarted });
    await until(() => expect(texts(again)).toEqual(["Hi", "Hello"]));
    expect(onStarted).toHaveBeenCalledOnce();
    expect(draftOf(NEW_CHAT) + draftOf("c1")).toBe("");
  });
});

describe("an approval that cannot be sent", () => {
  const asks = () =>
    new Stream()
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

  const approved = async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "Hi")], waiting)));
    network.on("GET api/chat/c1/stream", asks);
    const conversation = open();
    await until(() => expect(life(conversation)).toBe("waiting"));
    await until(() => expect(conversation.chat.status).toBe("ready"));
    network.isDown = true;
    void conversation.decide("a1", { decision: "approved" });
    await failed();
    expect(conversation.state.get().unsent).toBe("answer");
    return conversation;
  };

  it("is sent when the server is back", async () => {
    const conversation = await approved();
    network.isDown = false;
    network.on(POST, answers("Done"));
    outage.retry();
    await whenIdle(conversation);
    expect(network.to(POST).at(-1)?.body.message.parts.at(-1)).toMatchObject({
      state: "approval-responded",
    });
  });

  it("can be given again after a stop", async () => {
    const conversation = await approved();
    await conversation.stop();
    expect(life(conversation)).toBe("waiting");
    expect(conversation.chat.lastMessage?.parts.at(-1)).toMatchObject({
      state: "approval-requested",
    });
  });
});

it("does not lose older messages that could not be loaded", async () => {
  network.on("GET api/chats/c1", () => json(chat([user("m2", "two")], { before: "p1" })));
  network.on("GET api/chats/c1/messages", () =>
    json({ messages: [user("m1", "one")], before: null, activeRun: null }),
  );
  const conversation = open();
  await until(() => expect(conversation.state.get().phase).toBe("ready"));
  network.isDown = true;
  const loading = conversation.loadOlder();
  await failed();
  network.isDown = false;
  outage.retry();
  await loading;
  expect(texts(conversation)).toEqual(["one", "two"]);
});
