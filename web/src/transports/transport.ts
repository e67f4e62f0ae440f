import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { Answer } from "@/api";

/** The server took what was sent: it is stored, and a run goes on. */
export type OnAccepted = (runId: string | undefined) => void;

/**
 * How the page and the server talk, in one protocol. To a chat they are all the same:
 *
 * Rule 1: what is sent is taken or refused before a stream comes back; a refusal is `Refused`.
 * Rule 2: a stream ends with `finish`, `abort` or `error`. One that ends otherwise, or falls silent, is
 *         `Broken`: the run goes on.
 * Rule 3: to reconnect is to read the message that is being written from its beginning.
 */
export interface Transport extends ChatTransport<UIMessage> {
  readonly resumeStreamIsReplay: true;
  /** Ends the run, which whoever reads it hears. */
  stop(chatId: string, runId?: string): Promise<{ runId: string | null }>;
  /** What the person says to a request that is no tool call's. */
  answer(chatId: string, answer: Answer, runId?: string): Promise<void>;
  close(): void;
}

export type Sending = Parameters<Transport["sendMessages"]>[0];
export type Chunks = ReadableStream<UIMessageChunk>;
