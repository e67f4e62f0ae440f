import type { UIMessageChunk } from "ai";
import type { Socket } from "socket.io-client";
import { Broken } from "@/transports/broken";
import { refusalIn } from "@/transports/socketIo/connection";
import type { Chunks } from "@/transports/transport";

interface Frame {
  sessionId: string;
  runId: string;
  /** A chunk, or the word for the end of a response. */
  data: UIMessageChunk | "[DONE]";
}

/**
 * Each frame comes by itself, and what is handed on by itself is shown by itself: for as long as a
 * screen takes to show anything, they are gathered.
 */
const MOMENT = 16;

interface Reader {
  runId: string;
  take: (chunk: UIMessageChunk) => void;
  end: () => void;
  fail: (error: Error) => void;
}

/** What is told of a chat since it was joined, kept until somebody reads it. */
export class Session {
  #kept: Frame[] = [];
  #reader: Reader | undefined;
  #failure: Error | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The server tells this one, or is asked to. */
  #isJoined = true;

  constructor(
    private readonly id: string,
    private readonly socket: Socket,
  ) {}

  /** The server joined it: what was told before was told to another session. */
  begin = (): void => {
    this.socket.on("agent:frame", this.#onFrame);
    this.socket.on("session:error", this.#onError);
    this.socket.on("disconnect", this.#onLost);
  };

  /** A response of a run, up to its end. What other runs say is not kept. */
  read(runId: string): Chunks {
    return new ReadableStream<UIMessageChunk>({
      start: (out) => {
        const end = () => {
          this.leave();
          out.close();
        };
        this.#readBy({
          runId,
          take: (chunk) => out.enqueue(chunk),
          end,
          fail: (e) => out.error(e),
        });
      },
      cancel: () => this.leave(),
    });
  }

  /** Hears a response of a run, and forgets it. */
  skip(runId: string): Promise<void> {
    return new Promise((end, fail) => this.#readBy({ runId, take: () => {}, end, fail }));
  }

  #readBy(reader: Reader): void {
    this.#reader = reader;
    this.#handOn();
    if (this.#reader === reader && this.#failure) reader.fail(this.#failure);
  }

  /** Gives the reader what was gathered; what comes after its end is kept for the next one. */
  #handOn = (): void => {
    this.#waitNoMore();
    const kept = this.#kept.splice(0);
    let given = 0;
    for (; this.#reader && given < kept.length; given++)
      this.#give(this.#reader, kept[given] as Frame);
    this.#kept = kept.slice(given);
  };

  #waitNoMore(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #give(reader: Reader, { runId, data }: Frame): void {
    if (runId !== reader.runId) return;
    if (data !== "[DONE]") {
      reader.take(data);
      return;
    }
    this.#reader = undefined;
    reader.end();
  }

  #onFrame = (frame: Frame): void => {
    if (frame.sessionId !== this.id) return;
    this.#kept.push(frame);
    if (frame.data === "[DONE]") this.#handOn();
    else this.#timer ??= setTimeout(this.#handOn, MOMENT);
  };

  #onError = (told: { sessionId: string }): void => {
    if (told.sessionId === this.id) this.#fail(refusalIn(told) ?? new Broken());
  };

  #onLost = (): void => this.#fail(new Broken());

  #fail(error: Error): void {
    this.#failure = error;
    this.leave();
    this.#reader?.fail(error);
  }

  /** Another one takes its place, so that it is not this one's any more to leave it. */
  yield(): void {
    this.#isJoined = false;
  }

  /** Hears no more, and is told no more: what comes is for who joins next. */
  leave(): void {
    this.#waitNoMore();
    this.socket.off("agent:frame", this.#onFrame);
    this.socket.off("session:error", this.#onError);
    this.socket.off("disconnect", this.#onLost);
    if (this.#isJoined && this.socket.connected)
      this.socket.emit("session:leave", { sessionId: this.id });
    this.#isJoined = false;
  }
}
