import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { Answer } from "@/api";

/** The server accepted and stored the message; a run is active. */
export type OnAccepted = (runId: string | undefined) => void;

/**
 * One protocol between the page and the server. All behave the same to a chat:
 *
 * Rule 1: a message is accepted or refused before a stream is returned; a refusal throws `Refused`.
 * Rule 2: a stream ends with `finish`, `abort` or `error`. A stream that ends otherwise, or stays silent,
 *         is `Broken`: the run continues.
 * Rule 3: reconnecting reads the streaming message from its start.
 */
export interface Transport extends ChatTransport<UIMessage> {
  readonly resumeStreamIsReplay: true;
  /** Stops the run; its stream reports the end. */
  stop(chatId: string, runId?: string): Promise<{ runId: string | null }>;
  /** Answers an input request that is not a tool approval. */
  answer(chatId: string, answer: Answer, runId?: string): Promise<void>;
  close(): void;
}

export type Sending = Parameters<Transport["sendMessages"]>[0];
export type Chunks = ReadableStream<UIMessageChunk>;
