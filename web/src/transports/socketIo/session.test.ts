import type { UIMessageChunk } from "ai";
import { io } from "socket.io-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Chunk, ENDS, says } from "@/testing/server";
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

/** A session of a socket that hears what it is told to, and what is read of it so far. */
function joined() {
  const socket = io("http://localhost", { autoConnect: false });
  const session = new Session("c1", socket);
  session.begin();
  const hear = (event: string, ...told: unknown[]) => {
    for (const listener of socket.listeners(event)) listener(...told);
  };
  const tell = (...data: (Chunk | "[DONE]")[]) => {
    for (const each of data) hear("agent:frame", frame(each));
  };
  return { session, hear, tell };
}

function reading(chunks: Chunks) {
  const read: UIMessageChunk[] = [];
  const over = chunks.pipeTo(new WritableStream({ write: (chunk) => void read.push(chunk) }));
  return { read, over };
}

/** After all that needs no time. */
const now = () => new Promise<void>((resolve) => setImmediate(resolve));

it("hands on together what comes within a moment, as it is shown together", async () => {
  const { session, tell } = joined();
  const { read } = reading(session.read("run_1"));
  tell(...says("Hi"));
  await now();
  expect(read).toEqual([]);
  await vi.runAllTimersAsync();
  await now();
  expect(read).toEqual(says("Hi"));
});

it("keeps nobody waiting for the end", async () => {
  const { session, tell } = joined();
  const { read, over } = reading(session.read("run_1"));
  tell(...says("Hi"), ...ENDS, "[DONE]");
  await over;
  expect(read).toEqual([...says("Hi"), ...ENDS]);
  expect(vi.getTimerCount()).toBe(0);
});

it("breaks off at once with the connection", async () => {
  const { session, hear, tell } = joined();
  const chunks = session.read("run_1").getReader();
  tell({ type: "start", messageId: "run_1" });
  hear("disconnect");
  await expect(chunks.read()).rejects.toBeInstanceOf(Broken);
  expect(vi.getTimerCount()).toBe(0);
});

it("keeps all that comes after a response that was skipped", async () => {
  const { session, tell } = joined();
  tell("[DONE]", ...says("Hi"), ...ENDS, "[DONE]");
  await session.skip("run_1");
  const { read, over } = reading(session.read("run_1"));
  await over;
  expect(read).toEqual([...says("Hi"), ...ENDS]);
});
