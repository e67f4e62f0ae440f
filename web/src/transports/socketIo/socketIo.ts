import { type Answer, address, PROFILE, Refused } from "@/api";
import { bodyOf, continuedBy, keyOf } from "@/transports/body";
import { whole } from "@/transports/broken";
import { Connection } from "@/transports/socketIo/connection";
import { Session } from "@/transports/socketIo/session";
import type { Chunks, OnAccepted, Sending, Transport } from "@/transports/transport";

/** What the server says of a session that is joined. */
interface Joined {
  runId: string | null;
  status: "idle" | "running" | "waiting";
}

/**
 * Socket.IO, by its own client: a session is a chat, told in the AI SDK's words. Each request joins it
 * anew, and so knows from where on it hears; one connection carries them all.
 */
export class SocketIoTransport implements Transport {
  readonly resumeStreamIsReplay = true;
  readonly #connection = new Connection(new URL(address("socket.io/")));

  constructor(private readonly onAccepted: OnAccepted) {}

  async sendMessages(sending: Sending): Promise<Chunks> {
    const [session, joined] = await this.#join(sending.chatId);
    const continued = continuedBy(sending);
    try {
      if (continued) await skip(continued.id, session, joined);
      const runId = await this.#say(sending);
      this.onAccepted(runId);
      return whole(session.read(runId));
    } catch (error) {
      session.leave();
      throw error;
    }
  }

  async reconnectToStream({ chatId }: { chatId: string }): Promise<Chunks | null> {
    const [session, { runId }] = await this.#join(chatId);
    if (runId !== null) return whole(session.read(runId));
    session.leave();
    return null;
  }

  stop(chatId: string, runId?: string): Promise<{ runId: string | null }> {
    return this.#connection.ask("chat:stop", { sessionId: chatId, runId });
  }

  async answer(chatId: string, answer: Answer): Promise<void> {
    await this.#connection.ask("chat:answer", { sessionId: chatId, ...answer });
  }

  close(): void {
    this.#connection.close();
  }

  async #say(sending: Sending): Promise<string> {
    const key = keyOf(sending);
    const said = { sessionId: sending.chatId, ...bodyOf(sending), idempotencyKey: key };
    return (await this.#connection.ask<{ runId: string }>("chat:message", said)).runId;
  }

  async #join(chatId: string): Promise<[Session, Joined]> {
    const session = new Session(chatId, await this.#connection.open());
    const asked = { sessionId: chatId, format: "ai-sdk", profile: PROFILE };
    const joined = await this.#connection.ask<Joined>("session:join", asked, session.begin);
    return [session, joined];
  }
}

/** What was told of a run until it waited is in its message already. */
async function skip(runId: string, session: Session, joined: Joined): Promise<void> {
  if (joined.runId !== runId || joined.status !== "waiting")
    throw new Refused(409, "not_waiting", "");
  await session.skip(runId);
}
