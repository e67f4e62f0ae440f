import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { type Entry, endingOf, type Frame, framesOf, OURS } from "@/inspector/entries";

const DELTAS: Readonly<Record<string, "delta" | "inputTextDelta">> = {
  "text-delta": "delta",
  "reasoning-delta": "delta",
  "tool-input-delta": "inputTextDelta",
};

type Chunk = UIMessageChunk & Record<string, unknown>;

/**
 * The chunks up to an entry, reduced: the client copies its message at every chunk. Consecutive deltas are
 * joined and transient chunks are left out. The resulting message is the same.
 */
export function chunksOf(entries: readonly Entry[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (const frame of framesUntil(entries)) {
    // A frame that is not JSON ends a stream, which does not apply here.
    if (typeof frame === "string" || frame.transient === true) continue;
    const last = chunks.at(-1);
    const joined = last && join(last, frame as Chunk);
    if (joined) chunks[chunks.length - 1] = joined;
    else chunks.push(frame as Chunk);
  }
  return chunks;
}

/** If the run waits there, include the end of the response; if it was resumed, leave it out. */
function framesUntil(entries: readonly Entry[]): Frame[] {
  const frames = entries.flatMap((entry) => framesOf(entry, OURS));
  if (!entries.at(-1)?.waits) return frames;
  const pause = entries.findLast((entry) => endingOf(entry, OURS).length > 0);
  return pause ? [...frames, ...endingOf(pause, OURS)] : frames;
}

function join(last: Chunk, next: Chunk): Chunk | undefined {
  const field = DELTAS[next.type];
  const isMore =
    field && last.type === next.type && last.id === next.id && last.toolCallId === next.toolCallId;
  // The metadata of the last delta wins.
  return isMore ? { ...last, ...next, [field]: `${last[field]}${next[field]}` } : undefined;
}

/** The message that the real client makes of the log up to an entry. */
export async function messageOf(runId: string, entries: readonly Entry[]): Promise<UIMessage> {
  const chunks = chunksOf(entries);
  const stream = new ReadableStream<UIMessageChunk>({
    start(out) {
      for (const chunk of chunks) out.enqueue(chunk);
      out.close();
    },
  });
  let message: UIMessage = { id: runId, role: "assistant", parts: [] };
  for await (const next of iterate(readUIMessageStream({ stream, onError: () => {} })))
    message = next;
  return { ...message, id: runId };
}

/** Not every browser supports async iteration of streams. */
async function* iterate(messages: AsyncIterable<UIMessage> & ReadableStream<UIMessage>) {
  const reader = messages.getReader();
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
