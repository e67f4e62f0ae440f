import { type Answer, address, PROFILE, Refused } from "@/api";
import { bodyOf, continuedBy, keyOf } from "@/transports/body";
import { whole } from "@/transports/broken";
import { Connection, unlessLeft } from "@/transports/socketIo/connection";
import { Session } from "@/transports/socketIo/session";
import type { Chunks, OnAccepted, Sending, Transport } from "@/transports/transport";

/** The acknowledgement of a join. */
interface Joined {
  runId: string | null;
  status: "idle" | "running" | "waiting";
}

/**
 * Socket.IO, with its own client: a session is a chat, sent as AI SDK chunks. Each request joins it again,
 * which defines where its frames start, and leaves it at its end; all share one connection.
 */
export class SocketIoTransport implements Transport {
  readonly resumeStreamIsReplay = true;
  readonly #connection = new Connection(new URL(address("socket.io/")));

  /** The session joined last. */
  #session: Session | undefined;

  constructor(private readonly onAccepted: OnAccepted) {}

  async sendMessages(sending: Sending): Promise<Chunks> {
    const { chatId, abortSignal } = sending;
    const [session, joined] = await this.#join(chatId, abortSignal);
    const continued = continuedBy(sending);
    try {
      if (continued) await unlessLeft(skip(continued.id, session, joined), abortSignal);
      const runId = await this.#submit(sending);
      this.onAccepted(runId);
      return whole(session.read(runId));
    } catch (error) {
      session.leave();
      throw error;
    }
  }

  async reconnectToStream({
    chatId,
    abortSignal,
  }: Pick<Sending, "chatId"> & Partial<Sending>): Promise<Chunks | null> {
    const [session, { runId }] = await this.#join(chatId, abortSignal);
    if (runId !== null) return whole(session.read(runId));
    session.leave();
    return null;
  }

  stop(chatId: string, runId?: string): Promise<{ runId: string | null }> {
    return this.#connection.ask("chat:stop", { sessionId: chatId, runId });
  }

  async answer(chatId: string, answer: Answer, runId?: string): Promise<void> {
    await this.#connection.ask("chat:answer", { sessionId: chatId, ...answer, runId });
  }

  close(): void {
    this.#connection.close();
  }

  async #submit(sending: Sending): Promise<string> {
    const key = keyOf(sending);
    const payload = { sessionId: sending.chatId, ...bodyOf(sending), idempotencyKey: key };
    const options = { signal: sending.abortSignal };
    return (await this.#connection.ask<{ runId: string }>("chat:message", payload, options)).runId;
  }

  async #join(chatId: string, signal: AbortSignal | undefined): Promise<[Session, Joined]> {
    const session = new Session(chatId, await this.#connection.open(signal));
    this.#session?.yield();
    this.#session = session;
    const payload = { sessionId: chatId, format: "ai-sdk", profile: PROFILE };
    const options = { signal, onAnswer: session.begin };
    try {
      return [session, await this.#connection.ask<Joined>("session:join", payload, options)];
    } catch (error) {
      session.leave();
      throw error;
    }
  }
}

/** A waiting run's earlier output is already in its message. */
async function skip(runId: string, session: Session, joined: Joined): Promise<void> {
  if (joined.runId !== runId || joined.status !== "waiting")
    throw new Refused(409, "not_waiting", "");
  await session.skip(runId);
}
