import { io, type Socket } from "socket.io-client";
import { Refused } from "@/api";
import { fieldsOf, isFields, textOf } from "@/json";
import { LATEST_ANSWER, noteRefusal, sendKey } from "@/key";
import { Broken } from "@/transports/broken";

interface RequestOptions {
  signal?: AbortSignal;
  onAnswer?: () => void;
}

/** The socket to the server, opened on demand. No automatic reconnect: the chat retries itself. */
export class Connection {
  readonly #socket: Socket;
  #opening: Promise<Socket> | undefined;

  constructor({ origin, pathname }: URL) {
    this.#socket = io(origin, {
      path: pathname,
      auth: sendKey,
      transports: ["websocket", "polling"],
      tryAllTransports: true,
      timeout: LATEST_ANSWER,
      reconnection: false,
      autoConnect: false,
    });
  }

  /** The connected socket; the signal ends only this caller's wait. */
  open(signal?: AbortSignal): Promise<Socket> {
    if (this.#socket.connected) return unlessLeft(Promise.resolve(this.#socket), signal);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return unlessLeft(this.#opening, signal);
  }

  /**
   * Sends a request and returns the acknowledgement; throws a refusal or an abort. `onAnswer` is called
   * before any later event is processed, unless the signal was aborted before.
   */
  async ask<T>(
    event: string,
    payload: object,
    { signal, onAnswer }: RequestOptions = {},
  ): Promise<T> {
    const socket = await this.open(signal);
    const timer = setTimeout(() => this.close(), LATEST_ANSWER);
    let onLost = () => {};
    const answered = new Promise<T>((resolve, reject) => {
      onLost = () => reject(new Broken());
      socket.once("disconnect", onLost);
      socket.emit(event, payload, (answer: unknown) => {
        if (signal?.aborted) return;
        const refused = refusalIn(answer);
        if (refused) return reject(refused);
        onAnswer?.();
        resolve(answer as T);
      });
    });
    return unlessLeft(answered, signal).finally(() => {
      clearTimeout(timer);
      socket.off("disconnect", onLost);
    });
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

/** The promise's result; throws if the signal is aborted first. */
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

/** A refusal, as the server's usual error object. */
export function refusalIn(answer: unknown): Refused | undefined {
  const { error } = fieldsOf(answer);
  if (!isFields(error)) return undefined;
  return new Refused(0, textOf(error.code) ?? "unknown", textOf(error.message) ?? "");
}
