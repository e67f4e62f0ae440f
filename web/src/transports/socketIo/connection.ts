import { io, type Socket } from "socket.io-client";
import { Refused } from "@/api";
import { fieldsOf, isFields, textOf } from "@/json";
import { noteRefusal, tellKey } from "@/key";
import { Broken } from "@/transports/broken";

interface Asking {
  signal?: AbortSignal;
  onAnswer?: () => void;
}

/** The way to the server. It is opened when it is needed: a chat knows itself when to try again. */
export class Connection {
  readonly #socket: Socket;
  #opening: Promise<Socket> | undefined;

  constructor({ origin, pathname }: URL) {
    this.#socket = io(origin, {
      path: pathname,
      auth: tellKey,
      transports: ["websocket", "polling"],
      tryAllTransports: true,
      reconnection: false,
      autoConnect: false,
    });
  }

  /** The socket, connected; who gives up does not wait for it, others may. */
  open(signal?: AbortSignal): Promise<Socket> {
    if (this.#socket.connected) return unlessLeft(Promise.resolve(this.#socket), signal);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return unlessLeft(this.#opening, signal);
  }

  /**
   * What the server answers; a refusal is thrown. `onAnswer` hears of it before all that follows, unless
   * whoever asked gave up before: that is thrown too.
   */
  async ask<T>(event: string, said: object, { signal, onAnswer }: Asking = {}): Promise<T> {
    const socket = await this.open(signal);
    let onLost = () => {};
    const answered = new Promise<T>((resolve, reject) => {
      onLost = () => reject(new Broken());
      socket.once("disconnect", onLost);
      socket.emit(event, said, (answer: unknown) => {
        if (signal?.aborted) return;
        const refused = refusalIn(answer);
        if (refused) return reject(refused);
        onAnswer?.();
        resolve(answer as T);
      });
    });
    return unlessLeft(answered, signal).finally(() => socket.off("disconnect", onLost));
  }

  close(): void {
    this.#socket.disconnect();
  }

  #open(): Promise<Socket> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      const done = (then: () => void) => () => {
        socket.off("connect", onOpen).off("connect_error", onRefused).off("disconnect", onLost);
        then();
      };
      const onOpen = done(() => resolve(socket));
      const onLost = done(() => reject(new Broken()));
      const onRefused = (error: Error) => {
        noteRefusal(error);
        onLost();
      };
      socket.on("connect", onOpen).on("connect_error", onRefused).on("disconnect", onLost);
      socket.connect();
    });
  }
}

/** What comes of it, unless the signal says before that nobody wants it any more. */
export async function unlessLeft<T>(coming: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return coming;
  let onLeft = () => {};
  const left = new Promise<never>((_, reject) => {
    onLeft = () => reject(signal.reason);
    signal.addEventListener("abort", onLeft);
  });
  if (signal.aborted) onLeft();
  return Promise.race([left, coming]).finally(() => signal.removeEventListener("abort", onLeft));
}

/** The server said no, in the words that it has for that everywhere. */
export function refusalIn(answer: unknown): Refused | undefined {
  const { error } = fieldsOf(answer);
  if (!isFields(error)) return undefined;
  return new Refused(0, textOf(error.code) ?? "unknown", textOf(error.message) ?? "");
}
