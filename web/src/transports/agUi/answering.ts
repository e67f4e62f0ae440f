import type { UIMessageChunk } from "ai";
import { Refused } from "@/api";
import { fetchWithKey } from "@/key";
import { SILENCE } from "@/runs/backoff";
import type { Event } from "@/transports/agUi/names";
import { ask, type Question } from "@/transports/agUi/readingAgent";
import { cutAfter } from "@/transports/broken";
import type { Chunks } from "@/transports/transport";

/** A request in progress: its response headers first, then the chunks made of its events. */
export class Answering {
  /** Resolves when the response starts; throws a refusal. */
  readonly started: Promise<Response>;
  readonly #ended: Promise<void>;
  readonly #abort = new AbortController();
  #onEvent = (_event: Event) => {};
  #isBodyOver = false;
  /** The client gets the response when its body is read. */
  #letRead = () => {};

  constructor(question: Omit<Question, "fetch" | "abort">, signal: AbortSignal | undefined) {
    if (signal?.aborted) this.leave();
    signal?.addEventListener("abort", () => this.leave());
    const isRead = new Promise<void>((resolve) => {
      this.#letRead = resolve;
    });
    let begin = (_response: Response) => {};
    const response = new Promise<Response>((resolve) => {
      begin = resolve;
    });
    const request = async (url: string, init: RequestInit) => {
      const taking = await taken(await fetchWithKey(url, init));
      begin(taking);
      await isRead;
      return new Response(taking.body && this.#quietly(cutAfter(SILENCE, taking.body)), taking);
    };
    const options = { ...question, fetch: request, abort: this.#abort };
    this.#ended = ask(options, (event) => this.#onEvent(event));
    this.started = Promise.race([response, this.#ended.then(() => response)]);
  }

  read(chunksOf: (event: Event) => UIMessageChunk[]): Chunks {
    let isLeft = false;
    return new ReadableStream({
      start: (out) => {
        this.#onEvent = (event) => {
          for (const chunk of isLeft ? [] : chunksOf(event)) out.enqueue(chunk);
        };
        this.#ended.then(
          () => isLeft || out.close(),
          // The client throws on half an event; the reader detects a broken response by its missing end.
          (error: unknown) => (this.#isBodyOver ? isLeft || out.close() : out.error(error)),
        );
        this.#letRead();
      },
      cancel: () => {
        isLeft = true;
        this.leave();
      },
    });
  }

  /** The bytes; a broken connection just ends them: the client would throw an unhandled error. */
  #quietly(bytes: ReadableStream<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = bytes.getReader();
    return new ReadableStream({
      pull: async (out) => {
        const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
        this.#isBodyOver = done;
        if (value === undefined) out.close();
        else out.enqueue(value as Uint8Array<ArrayBuffer>);
      },
      cancel: (reason) => reader.cancel(reason).catch(() => {}),
    });
  }

  leave(): void {
    this.#abort.abort();
    this.#letRead();
  }
}

export async function taken(response: Response): Promise<Response> {
  if (!response.ok) throw Refused.from(response.status, await response.text());
  return response;
}
