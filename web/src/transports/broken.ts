import type { UIMessageChunk } from "ai";

/**
 * The connection ended, the run did not. The SDK knows a lost connection by a `TypeError` whose words
 * have "network" in them, and keeps what it needs to go on.
 */
export class Broken extends TypeError {
  constructor() {
    super("network: the response broke off");
    this.name = "Broken";
  }
}

const ENDS = new Set<string>(["finish", "abort", "error"]);

/** The chunks, and `Broken` if they stop before one that ends a response. */
export function whole(chunks: ReadableStream<UIMessageChunk>): ReadableStream<UIMessageChunk> {
  let ended = false;
  return chunks.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform(chunk, out) {
        ended ||= ENDS.has(chunk.type);
        out.enqueue(chunk);
      },
      flush() {
        if (!ended) throw new Broken();
      },
    }),
  );
}

type Bytes = Uint8Array<ArrayBufferLike>;

/** The bytes, and `Broken` if none come for `silence` milliseconds; heartbeats are bytes too. */
export function cutAfter(silence: number, bytes: ReadableStream<Bytes>): ReadableStream<Bytes> {
  const reader = bytes.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watched = () =>
    Promise.race([
      reader.read(),
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Broken()), silence);
      }),
    ]).finally(() => clearTimeout(timer));
  return new ReadableStream<Bytes>({
    async pull(out) {
      try {
        const { done, value } = await watched();
        if (done) out.close();
        else out.enqueue(value);
      } catch (error) {
        out.error(error);
        reader.cancel(error).catch(() => {});
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
