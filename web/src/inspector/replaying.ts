import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { type Entry, endingOf, type Frame, framesOf, OURS } from "@/inspector/entries";

const DELTAS: Readonly<Record<string, "delta" | "inputTextDelta">> = {
  "text-delta": "delta",
  "reasoning-delta": "delta",
  "tool-input-delta": "inputTextDelta",
};

type Chunk = UIMessageChunk & Record<string, unknown>;

/**
 * The chunks that the client read up to there, in fewer: it copies its message at every chunk. Pieces
 * that followed each other are one, and what it only hears, and keeps nowhere, is left out. What comes
 * out is the same.
 */
export function chunksOf(entries: readonly Entry[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (const frame of framesUntil(entries)) {
    // What is no JSON ends a stream, which is none here.
    if (typeof frame === "string" || frame.transient === true) continue;
    const last = chunks.at(-1);
    const joined = last && join(last, frame as Chunk);
    if (joined) chunks[chunks.length - 1] = joined;
    else chunks.push(frame as Chunk);
  }
  return chunks;
}

/** Where the run waits, the response is at its end; where it went on, it is as if it had not been. */
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
  // What a delta says beside its words is the last word on its part.
  return isMore ? { ...last, ...next, [field]: `${last[field]}${next[field]}` } : undefined;
}

/** The message that the real client makes of the log up to there. */
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

/** Not every browser can iterate over a stream by itself. */
async function* iterate(messages: AsyncIterable<UIMessage> & ReadableStream<UIMessage>) {
  const reader = messages.getReader();
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
