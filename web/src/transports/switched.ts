import type { Answer } from "@/api";
import { linkSecret } from "@/link";
import { type Protocol, protocol } from "@/state/protocol";
import { AiSdkTransport } from "@/transports/aiSdk";
import type { Chunks, OnAccepted, Sending, Transport } from "@/transports/transport";

/** Clients of the less used protocols are loaded on demand. */
const MAKERS: Record<Protocol, (onAccepted: OnAccepted) => Promise<Transport>> = {
  "ai-sdk": async (onAccepted) => new AiSdkTransport(onAccepted),
  "ag-ui": async (onAccepted) =>
    new (await import("@/transports/agUi/agUi")).AgUiTransport(onAccepted),
  "socket-io": async (onAccepted) =>
    new (await import("@/transports/socketIo/socketIo")).SocketIoTransport(onAccepted),
};

/** The transport of the selected protocol; a change applies from the next request on. */
export class SwitchedTransport implements Transport {
  readonly resumeStreamIsReplay = true;
  #made = new Map<Protocol, Promise<Transport>>();

  constructor(private readonly onAccepted: OnAccepted) {}

  async sendMessages(sending: Sending): Promise<Chunks> {
    return (await this.#chosen()).sendMessages(sending);
  }

  async reconnectToStream(
    options: Parameters<Transport["reconnectToStream"]>[0],
  ): Promise<Chunks | null> {
    return (await this.#chosen()).reconnectToStream(options);
  }

  async stop(chatId: string, runId?: string): Promise<{ runId: string | null }> {
    return (await this.#chosen()).stop(chatId, runId);
  }

  async answer(chatId: string, answer: Answer, runId?: string): Promise<void> {
    return (await this.#chosen()).answer(chatId, answer, runId);
  }

  /** A closed transport is created again on demand. */
  close(): void {
    for (const made of this.#made.values()) void made.then((transport) => transport.close());
    this.#made.clear();
  }

  #chosen(): Promise<Transport> {
    // Readers of a link have no other route.
    const name = linkSecret() === undefined ? protocol.get() : "ai-sdk";
    const known = this.#made.get(name);
    if (known) return known;
    const made = MAKERS[name](this.onAccepted);
    this.#made.set(name, made);
    // A failed load is retried with the next request.
    made.catch(() => this.#made.delete(name));
    return made;
  }
}
