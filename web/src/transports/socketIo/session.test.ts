import type { UIMessageChunk } from "ai";
import { io } from "socket.io-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Chunk, ENDS, textChunks } from "@/testing/server";
import { frame } from "@/testing/sockets";
import { Broken } from "@/transports/broken";
import { Session } from "@/transports/socketIo/session";
import type { Chunks } from "@/transports/transport";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A session on a fake socket, with functions that deliver events to it. */
function joined() {
  const socket = io("http://localhost", { autoConnect: false });
  const session = new Session("c1", socket);
  session.begin();
  const receive = (event: string, ...args: unknown[]) => {
    for (const listener of socket.listeners(event)) listener(...args);
  };
  const receiveFrames = (...data: (Chunk | "[DONE]")[]) => {
    for (const each of data) receive("agent:frame", frame(each));
  };
  return { session, receive, receiveFrames };
}

function reading(chunks: Chunks) {
  const read: UIMessageChunk[] = [];
  const over = chunks.pipeTo(new WritableStream({ write: (chunk) => void read.push(chunk) }));
  return { read, over };
}

/** After all that needs no time. */
const now = () => new Promise<void>((resolve) => setImmediate(resolve));

it("hands on together what comes within a moment, as it is shown together", async () => {
  const { session, receiveFrames } = joined();
  const { read } = reading(session.read("run_1"));
  receiveFrames(...textChunks("Hi"));
  await now();
  expect(read).toEqual([]);
  await vi.runAllTimersAsync();
  await now();
  expect(read).toEqual(textChunks("Hi"));
});

it("delivers the end at once", async () => {
  const { session, receiveFrames } = joined();
  const { read, over } = reading(session.read("run_1"));
  receiveFrames(...textChunks("Hi"), ...ENDS, "[DONE]");
  await over;
  expect(read).toEqual([...textChunks("Hi"), ...ENDS]);
  expect(vi.getTimerCount()).toBe(0);
});

it("breaks off at once with the connection", async () => {
  const { session, receive, receiveFrames } = joined();
  const chunks = session.read("run_1").getReader();
  receiveFrames({ type: "start", messageId: "run_1" });
  receive("disconnect");
  await expect(chunks.read()).rejects.toBeInstanceOf(Broken);
  expect(vi.getTimerCount()).toBe(0);
});

it("keeps all that comes after a response that was skipped", async () => {
  const { session, receiveFrames } = joined();
  receiveFrames("[DONE]", ...textChunks("Hi"), ...ENDS, "[DONE]");
  await session.skip("run_1");
  const { read, over } = reading(session.read("run_1"));
  await over;
  expect(read).toEqual([...textChunks("Hi"), ...ENDS]);
});
