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
    const kept = this.#kept.splice(0);
    kept.forEach((frame, index) => {
      if (this.#reader === reader) this.#give(reader, frame);
      else this.#kept = kept.slice(index);
    });
    if (this.#reader === reader && this.#failure) reader.fail(this.#failure);
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
    if (this.#reader) this.#give(this.#reader, frame);
    else this.#kept.push(frame);
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
    this.socket.off("agent:frame", this.#onFrame);
    this.socket.off("session:error", this.#onError);
    this.socket.off("disconnect", this.#onLost);
    if (this.#isJoined && this.socket.connected)
      this.socket.emit("session:leave", { sessionId: this.id });
    this.#isJoined = false;
  }
}
