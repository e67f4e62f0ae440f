import type { UIMessage } from "ai";
import { onTestFinished, vi } from "vitest";

/** A request of the page. */
export interface RecordedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was posted
  body: any;
  signal: AbortSignal | null;
}
type Handler = (request: RecordedRequest) => Response | Promise<Response>;

/**
 * A fake server with the given routes: bodies are real streams, read by the real client. Unknown routes
 * are 404.
 */
export class Network {
  readonly requests: RecordedRequest[] = [];
  #routes = new Map<string, Handler>();
  isDown = false;

  constructor() {
    vi.stubGlobal("fetch", this.#fetch);
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
  }

  /** `route` is a method and a path, such as `GET api/chats`; a later handler replaces it. */
  on(route: string, handler: Handler): this {
    this.#routes.set(route, handler);
    return this;
  }

  to(route: string): RecordedRequest[] {
    return this.requests.filter(({ method, path }) => `${method} ${path}` === route);
  }

  #fetch = async (input: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    const request: RecordedRequest = {
      method: init.method ?? "GET",
      path: url.pathname.replace(/^\//, ""),
      query: url.searchParams,
      headers: new Headers(init.headers),
      body: typeof init.body === "string" ? JSON.parse(init.body) : undefined,
      signal: init.signal ?? null,
    };
    this.requests.push(request);
    if (this.isDown) throw new TypeError("fetch failed");
    const handler = this.#routes.get(`${request.method} ${request.path}`);
    const response = handler?.(request) ?? refusal(404, "not_found", "there is no such thing");
    return Promise.race([response, left(request.signal)]);
  };
}

/** Rejects when the request is aborted, as `fetch` does. */
const left = (signal: AbortSignal | null) =>
  new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });

/** A response that the test resolves. */
export function later(): { response: Promise<Response>; answer: (response: Response) => void } {
  let answer = (_: Response) => {};
  const response = new Promise<Response>((resolve) => {
    answer = resolve;
  });
  return { response, answer };
}

export const json = (value: unknown, status = 200) => Response.json(value, { status });

export const refusal = (status: number, code: string, message: string) =>
  json({ error: { code, message } }, status);

export type Chunk = { type: string } & Record<string, unknown>;

/** A response body written while it is read. */
export class Stream {
  readonly response: Response;
  #out!: ReadableStreamDefaultController<Uint8Array>;

  constructor(request?: RecordedRequest, run = "run_1") {
    const body = new ReadableStream<Uint8Array>({
      start: (out) => {
        this.#out = out;
      },
    });
    request?.signal?.addEventListener("abort", () =>
      this.#out.error(new DOMException("left", "AbortError")),
    );
    this.response = new Response(body, {
      headers: { "content-type": "text/event-stream", "x-mobox-run": run },
    });
  }

  send(...chunks: Chunk[]): this {
    for (const chunk of chunks) this.#write(`data: ${JSON.stringify(chunk)}\n\n`);
    return this;
  }

  /** Frames, each with its cursor. */
  sendFrames(...documents: [cursor: string, data: string][]): this {
    for (const [cursor, data] of documents) this.#write(`id: ${cursor}\ndata: ${data}\n\n`);
    return this;
  }

  /** As the server ends a response. */
  end(): Response {
    this.#write("data: [DONE]\n\n");
    this.#out.close();
    return this.response;
  }

  /** Ends the connection unexpectedly. */
  cut(): Response {
    this.#out.close();
    return this.response;
  }

  /** Breaks the connection with an error. */
  break(): void {
    this.#out.error(new TypeError("network error"));
  }

  #write(text: string): void {
    this.#out.enqueue(new TextEncoder().encode(text));
  }
}

/** The chunks of a text message. */
export const textChunks = (text: string, run = "run_1"): Chunk[] => [
  { type: "start", messageId: run },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: text },
];
export const ENDS: Chunk[] = [
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: "stop", messageMetadata: { reason: "stop" } },
];

export const user = (id: string, text: string): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});
export const agent = (id: string, text: string): UIMessage => ({
  id,
  role: "assistant",
  metadata: { reason: "stop" },
  parts: [{ type: "text", text, state: "done" }],
});

/** A chat as the server returns it. */
export const chat = (messages: UIMessage[], more: object = {}) => ({
  id: "c1",
  title: "A chat",
  createdAt: 1,
  updatedAt: 2,
  agent: "demo",
  messages,
  activeRun: null,
  ...more,
});
