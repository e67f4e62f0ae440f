import type { UIMessage, UIMessageChunk } from "ai";
import type { Socket } from "socket.io";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { failureOf } from "@/failure";
import { LATEST_ANSWER } from "@/key";
import { agent, type Chunk, ENDS, textChunks, user } from "@/testing/server";
import { frame, Sockets, UNANSWERED } from "@/testing/sockets";
import { until } from "@/testing/waiting";
import { SocketIoTransport } from "@/transports/socketIo/socketIo";
import type { Chunks } from "@/transports/transport";

let sockets: Sockets;
let transport: SocketIoTransport;
let accepted: (string | undefined)[];
beforeEach(async () => {
  sockets = await Sockets.open();
  accepted = [];
  transport = new SocketIoTransport((run) => accepted.push(run));
});
afterEach(() => transport.close());

const IDLE = { sessionId: "c1", runId: null, status: "idle" };
const HI = [...textChunks("Hi"), ...ENDS];

/** After the answer that is on its way: frames never come before it. */
const sendFrames = (socket: Socket, ...data: (Chunk | "[DONE]")[]) =>
  queueMicrotask(() => {
    for (const each of data) socket.emit("agent:frame", frame(each));
  });

const sending = (messages: UIMessage[], more: object = {}) => ({
  chatId: "c1",
  messages,
  trigger: "submit-message" as const,
  messageId: undefined,
  abortSignal: undefined,
  ...more,
});

async function read(stream: Chunks | null): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk);
  return chunks;
}

/** The events that the server received; a stop is sent last, to be sure that all have arrived. */
async function receivedEvents(): Promise<string[]> {
  await transport.stop("c1");
  return sockets.received.map(([event]) => event).filter((event) => event !== "chat:stop");
}

/** Time passes while the sockets work. */
function pass(milliseconds: number) {
  vi.advanceTimersByTime(milliseconds);
  vi.useRealTimers();
}

const failing = async (pending: Promise<unknown>) =>
  failureOf(await pending.catch((error: unknown) => error));

describe("what is sent", () => {
  const before = [user("m1", "one"), agent("run_0", "first"), user("m2", "two")];

  it("is the last message alone, in a session that was joined before", async () => {
    sockets.on("session:join", () => IDLE);
    sockets.on("chat:message", (_, socket) => {
      sendFrames(socket, ...HI, "[DONE]");
      return { runId: "run_1" };
    });
    const headers = { "idempotency-key": "key" };
    const sent = sending(before, { headers, body: { agent: "writer" } });
    expect(await read(await transport.sendMessages(sent))).toEqual(HI);
    expect(accepted).toEqual(["run_1"]);
    expect(sockets.received.slice(0, 2)).toEqual([
      ["session:join", { sessionId: "c1", format: "ai-sdk", profile: "page" }],
      [
        "chat:message",
        {
          sessionId: "c1",
          trigger: "submit-message",
          message: before[2],
          agent: "writer",
          idempotencyKey: "key",
        },
      ],
    ]);
  });

  it("is answered by its own run, among frames of other runs", async () => {
    sockets.on("session:join", () => IDLE);
    sockets.on("chat:message", (_, socket) => {
      socket.emit("agent:frame", frame({ type: "start", messageId: "run_0" }, "run_0"));
      socket.emit("agent:frame", frame("[DONE]", "run_0"));
      for (const each of HI) socket.emit("agent:frame", frame(each));
      sendFrames(socket, "[DONE]");
      return { runId: "run_1" };
    });
    expect(await read(await transport.sendMessages(sending(before)))).toEqual(HI);
  });

  it("may be refused, in the server's words", async () => {
    sockets.on("session:join", () => IDLE);
    const error = { code: "run_active", message: "busy" };
    sockets.on("chat:message", () => ({ error }));
    expect(await failing(transport.sendMessages(sending(before)))).toEqual({ kind: "busy" });
    expect(accepted).toEqual([]);
  });

  it("may not arrive", async () => {
    await sockets.server.close();
    expect(await failing(transport.sendMessages(sending(before)))).toEqual({ kind: "lost" });
  });

  it("is lost where the server does not answer for a while, and can be sent again", async () => {
    sockets.on("session:join", () => IDLE);
    sockets.on("chat:message", () => UNANSWERED);
    await transport.stop("c1"); // connected
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const sent = failing(transport.sendMessages(sending(before)));
    await until(() => expect(sockets.received.at(-1)?.[0]).toBe("chat:message"));
    pass(LATEST_ANSWER);
    expect(await sent).toEqual({ kind: "lost" });
    sockets.on("chat:message", (_, socket) => {
      sendFrames(socket, ...HI, "[DONE]");
      return { runId: "run_1" };
    });
    expect(await read(await transport.sendMessages(sending(before)))).toHaveLength(HI.length);
  });

  it.each([
    ["it is connected", [], "connection"],
    ["its session is joined", ["session:join"], "session:join"],
    ["earlier frames are read", ["session:join"], "frames"],
    ["it is taken", ["session:join", "chat:message"], "chat:message"],
  ])("is given up before %s", async (_, expected, stalled) => {
    const answers = (event: string, answer: object) => () =>
      stalled === event ? UNANSWERED : answer;
    sockets.on("session:join", answers("session:join", IDLE));
    sockets.on("chat:message", answers("chat:message", { runId: "run_1" }));
    if (stalled === "connection") sockets.server.use(() => {}); // accepts no connection
    const waits = { ...IDLE, runId: "run_0", status: "waiting" };
    if (stalled === "frames") sockets.on("session:join", () => waits);
    const messages = stalled === "frames" ? before.slice(0, 2) : before;
    const leaving = new AbortController();
    const sent = transport.sendMessages(sending(messages, { abortSignal: leaving.signal }));
    const pending = until(() => {
      expect(sockets.server.engine.clientsCount).toBe(1);
      expect(sockets.received.map(([event]) => event)).toEqual(expected);
    });
    await pending.finally(() => leaving.abort());
    await expect(sent).rejects.toHaveProperty("name", "AbortError");
    expect(accepted).toEqual([]);
  });

  it("is not sent where its session is joined after an abort", async () => {
    const leaving = new AbortController();
    sockets.on("session:join", () => {
      leaving.abort();
      return IDLE;
    });
    const sent = transport.sendMessages(sending(before, { abortSignal: leaving.signal }));
    await expect(sent).rejects.toHaveProperty("name", "AbortError");
    expect(await receivedEvents()).toEqual(["session:join", "session:leave"]);
  });

  it("is a stop or an answer, by the same connection", async () => {
    sockets.on("chat:stop", () => ({ runId: "run_1", status: "running" }));
    sockets.on("chat:answer", () => ({ runId: "run_1", status: "running" }));
    expect(await transport.stop("c1", "run_1")).toMatchObject({ runId: "run_1" });
    await transport.answer("c1", { requestId: "q", decision: "answered", value: [1] });
    expect(sockets.received).toEqual([
      ["chat:stop", { sessionId: "c1", runId: "run_1" }],
      ["chat:answer", { sessionId: "c1", requestId: "q", decision: "answered", value: [1] }],
    ]);
    expect(sockets.server.engine.clientsCount).toBe(1);
  });
});

describe("a decision", () => {
  const message = agent("run_1", "May I?");

  it("continues the run after its output before the pause", async () => {
    sockets.on("session:join", (_, socket) => {
      sendFrames(socket, ...textChunks("May I?"), { type: "finish" }, "[DONE]");
      return { ...IDLE, runId: "run_1", status: "waiting" };
    });
    sockets.on("chat:message", (_, socket) => {
      sendFrames(socket, { type: "start", messageId: "run_1" }, ...ENDS, "[DONE]");
      return { runId: "run_1" };
    });
    const stream = await transport.sendMessages(sending([user("m1", "go"), message]));
    expect(await read(stream)).toEqual([{ type: "start", messageId: "run_1" }, ...ENDS]);
  });

  it("of a run that does not wait any more is not sent", async () => {
    sockets.on("session:join", () => ({ ...IDLE, runId: "run_1", status: "running" }));
    const sent = transport.sendMessages(sending([user("m1", "go"), message]));
    expect(await failing(sent)).toEqual({ kind: "busy" });
    expect(await receivedEvents()).toEqual(["session:join", "session:leave"]);
  });
});

describe("a response", () => {
  const active = { ...IDLE, runId: "run_1", status: "running" };
  const connected = async (handler: (socket: Socket) => void) => {
    sockets.on("session:join", (_, socket) => {
      queueMicrotask(() => handler(socket));
      return active;
    });
    return read(await transport.reconnectToStream({ chatId: "c1" }));
  };

  it("is sent from its start on reconnect", async () => {
    const chunks = await connected((socket) => sendFrames(socket, ...HI, "[DONE]"));
    expect(chunks).toEqual(HI);
  });

  it("is none where nothing goes on", async () => {
    sockets.on("session:join", () => IDLE);
    expect(await transport.reconnectToStream({ chatId: "c1" })).toBeNull();
  });

  it("that breaks off with its connection is broken, and can be read again", async () => {
    const broken = connected((socket) => {
      sendFrames(socket, ...textChunks("Hi"));
      queueMicrotask(() => socket.disconnect(true));
    });
    expect(await failing(broken)).toEqual({ kind: "lost" });
    expect(await connected((socket) => sendFrames(socket, ...HI, "[DONE]"))).toEqual(HI);
  });

  it("that the server breaks off has the server's message", async () => {
    const error = { code: "not_found", message: "there is no such chat" };
    const broken = connected((socket) => socket.emit("session:error", { sessionId: "c1", error }));
    expect(await failing(broken)).toEqual({ kind: "gone" });
  });

  it("that is left receives no more frames, and the next one does", async () => {
    sockets.on("session:join", () => active);
    const left = await transport.reconnectToStream({ chatId: "c1" });
    await left?.cancel();
    expect(await receivedEvents()).toEqual(["session:join", "session:leave"]);
    expect(await connected((socket) => sendFrames(socket, ...HI, "[DONE]"))).toEqual(HI);
  });

  it("that has ended is left", async () => {
    await connected((socket) => sendFrames(socket, ...HI, "[DONE]"));
    expect(await receivedEvents()).toEqual(["session:join", "session:leave"]);
  });

  it("that another one takes the place of does not end that one", async () => {
    sockets.on("session:join", () => active);
    const left = await transport.reconnectToStream({ chatId: "c1" });
    await transport.reconnectToStream({ chatId: "c1" });
    await left?.cancel();
    expect(await receivedEvents()).toEqual(["session:join", "session:join"]);
  });
});
