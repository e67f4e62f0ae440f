import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, type Socket } from "socket.io";
import { onTestFinished } from "vitest";
import type { Chunk } from "@/testing/server";

type Answer = (answer: unknown) => void;
type Handler = (payload: Record<string, unknown>, socket: Socket) => unknown;

/** Returned by a handler that never answers. */
export const UNANSWERED = Symbol("unanswered");

/** A chunk as a frame of a run; `[DONE]` ends a response. */
export const frame = (data: Chunk | "[DONE]", runId = "run_1") => ({
  sessionId: "c1",
  runId,
  cursor: "1.0",
  data,
});

/** A real Socket.IO server on a local port, with test handlers. */
export class Sockets {
  readonly received: [event: string, payload: Record<string, unknown>][] = [];
  readonly server: Server;
  readonly #handlers = new Map<string, Handler>();

  private constructor(
    readonly port: number,
    server: Server,
  ) {
    this.server = server;
    server.on("connection", (socket) => {
      socket.onAny((event: string, payload: Record<string, unknown>, answer?: Answer) => {
        this.received.push([event, payload]);
        const answering = this.#handlers.get(event)?.(payload, socket);
        if (answering !== UNANSWERED) answer?.(answering);
      });
    });
  }

  /** The page is served from there, below a path. */
  static async open(): Promise<Sockets> {
    const http = createServer();
    const server = new Server(http, { path: "/below/socket.io/" });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const { port } = http.address() as AddressInfo;
    const base = document.createElement("base");
    base.href = `http://127.0.0.1:${port}/below/`;
    document.head.append(base);
    onTestFinished(async () => {
      base.remove();
      await server.close();
    });
    return new Sockets(port, server);
  }

  /** The acknowledgement; frames that the handler sends come after it. */
  on(event: string, handler: Handler): this {
    this.#handlers.set(event, handler);
    return this;
  }
}
