import { io, type Socket } from "socket.io-client";
import { Refused } from "@/api";
import { fieldsOf, isFields, textOf } from "@/parts/wire";
import { Broken } from "@/transports/broken";

/** The way to the server. It is opened when it is needed: a chat knows itself when to try again. */
export class Connection {
  readonly #socket: Socket;
  #opening: Promise<Socket> | undefined;

  constructor({ origin, pathname }: URL) {
    this.#socket = io(origin, {
      path: pathname,
      transports: ["websocket", "polling"],
      tryAllTransports: true,
      reconnection: false,
      autoConnect: false,
    });
  }

  open(): Promise<Socket> {
    if (this.#socket.connected) return Promise.resolve(this.#socket);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** What the server answers; a refusal is thrown. `onAnswer` hears of it before all that follows. */
  async ask<T>(event: string, said: object, onAnswer = () => {}): Promise<T> {
    const socket = await this.open();
    return new Promise<T>((resolve, reject) => {
      const onLost = () => reject(new Broken());
      socket.once("disconnect", onLost);
      socket.emit(event, said, (answer: unknown) => {
        socket.off("disconnect", onLost);
        const refused = refusalIn(answer);
        if (refused) return reject(refused);
        onAnswer();
        resolve(answer as T);
      });
    });
  }

  close(): void {
    this.#socket.disconnect();
  }

  #open(): Promise<Socket> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      const done = (then: () => void) => () => {
        socket.off("connect", onOpen).off("connect_error", onLost).off("disconnect", onLost);
        then();
      };
      const onOpen = done(() => resolve(socket));
      const onLost = done(() => reject(new Broken()));
      socket.on("connect", onOpen).on("connect_error", onLost).on("disconnect", onLost);
      socket.connect();
    });
  }
}

/** The server said no, in the words that it has for that everywhere. */
export function refusalIn(answer: unknown): Refused | undefined {
  const { error } = fieldsOf(answer);
  if (!isFields(error)) return undefined;
  return new Refused(0, textOf(error.code) ?? "unknown", textOf(error.message) ?? "");
}
