import type { UIMessageChunk } from "ai";

/**
 * The connection ended, the run did not. The SDK recognizes a lost connection by a `TypeError` with
 * "network" in its message, and keeps its state to reconnect.
 */
export class Broken extends TypeError {
  constructor() {
    super("network: the response ended unexpectedly");
    this.name = "Broken";
  }
}

const ENDS = new Set<string>(["finish", "abort", "error"]);

/** The chunks; throws `Broken` if they stop before one that ends a response. */
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

/** The bytes; throws `Broken` if none arrive for `silence` ms; heartbeats count. */
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
