import type { UIMessageChunk } from "ai";
import type { Socket } from "socket.io-client";
import { Broken } from "@/transports/broken";
import { refusalIn } from "@/transports/socketIo/connection";
import type { Chunks } from "@/transports/transport";

interface Frame {
  sessionId: string;
  runId: string;
  /** A chunk, or the end marker of a response. */
  data: UIMessageChunk | "[DONE]";
}

/**
 * Each frame arrives alone, and each chunk passed on alone would be rendered alone, so chunks are
 * batched for the duration of one screen frame.
 */
const MOMENT = 16;

interface Reader {
  runId: string;
  take: (chunk: UIMessageChunk) => void;
  end: () => void;
  fail: (error: Error) => void;
}

/** Frames of a joined chat, buffered until they are read. */
export class Session {
  #kept: Frame[] = [];
  #reader: Reader | undefined;
  #failure: Error | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Joined, or joining. */
  #isJoined = true;

  constructor(
    private readonly id: string,
    private readonly socket: Socket,
  ) {}

  /** Starts receiving once joined: earlier frames belong to another session. */
  begin = (): void => {
    this.socket.on("agent:frame", this.#onFrame);
    this.socket.on("session:error", this.#onError);
    this.socket.on("disconnect", this.#onLost);
  };

  /** The response of a run, up to its end. Frames of other runs are dropped. */
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

  /** Reads a response of a run and discards it. */
  skip(runId: string): Promise<void> {
    return new Promise((end, fail) => this.#readBy({ runId, take: () => {}, end, fail }));
  }

  #readBy(reader: Reader): void {
    this.#reader = reader;
    this.#handOn();
    if (this.#reader === reader && this.#failure) reader.fail(this.#failure);
  }

  /** Passes the batch to the reader; frames after its end are kept for the next reader. */
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

  #onError = (refusal: { sessionId: string }): void => {
    if (refusal.sessionId === this.id) this.#fail(refusalIn(refusal) ?? new Broken());
  };

  #onLost = (): void => this.#fail(new Broken());

  #fail(error: Error): void {
    this.#failure = error;
    this.leave();
    this.#reader?.fail(error);
  }

  /** Replaced by another session, which now has to leave the room. */
  yield(): void {
    this.#isJoined = false;
  }

  /** Unsubscribes and leaves; later frames are for the next session. */
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
