import { address, Refused, runPath } from "@/api";
import { failureMessage, failureOf } from "@/failure";
import { fetchWithKey } from "@/key";
import { Backoff, SILENCE } from "@/runs/backoff";
import { pause } from "@/runs/pause";
import { EventReader, type Received } from "@/runs/sse";
import { Store } from "@/store";

export interface ReadingState {
  /** `lost`: reconnecting; `over`: all was read; `gone`: the run does not exist or was deleted. */
  phase: "reading" | "lost" | "over" | "gone" | "failed";
  /** The error message. */
  problem?: string;
}

interface Route {
  /** Below `api/runs/{id}/`. */
  path: "events" | "inspect";
  query?: Record<string, string>;
}

/**
 * Reads the frames of one run from its start until it ends or the reader is closed.
 *
 * Rule 1: a broken connection is resumed from the last cursor: no frame is delivered twice.
 * Rule 2: after a response ends, the next request follows; a 204 marks the end of the run.
 * Rule 3: a hidden page reads nothing: browsers limit the connections to one server over all tabs.
 *         Reading continues when the page becomes visible.
 */
export class RunReader {
  readonly state = new Store<ReadingState>({ phase: "reading" });
  #backoff = new Backoff();
  #cursor: string | undefined;

  /** `onFrames` gets all frames that arrived together. */
  constructor(
    readonly runId: string,
    readonly route: Route,
    readonly onFrames: (frames: Received[]) => void,
  ) {}

  /** Starts reading; returns the function that stops it. */
  open(): () => void {
    let leave = this.#begin();
    const onSeen = () => {
      leave();
      leave = this.#begin();
    };
    document.addEventListener("visibilitychange", onSeen);
    return () => {
      document.removeEventListener("visibilitychange", onSeen);
      leave();
    };
  }

  #begin(): () => void {
    const left = new AbortController();
    const hasMore = ["reading", "lost"].includes(this.state.get().phase);
    if (hasMore && document.visibilityState === "visible") void this.#follow(left.signal);
    return () => left.abort();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const phase = await this.#request(signal).catch((error) => this.#failed(error, signal));
      if (signal.aborted) return;
      if (phase === "reading") continue;
      if (phase !== "lost") return;
      await pause(this.#backoff.next(), signal);
    }
  }

  async #request(signal: AbortSignal): Promise<ReadingState["phase"]> {
    const { path, query } = this.route;
    const silence = new Silence(signal);
    const url = address(`${runPath(this.runId)}/${path}`, {
      ...query,
      live: "sse",
      after: this.#cursor,
    });
    try {
      const response = await fetchWithKey(url, { signal: silence.signal });
      if (!response.ok) throw Refused.from(response.status, await response.text());
      if (response.status === 204 || !response.body) return this.#be("over");
      this.#be("reading");
      return await this.#read(response.body, silence, signal);
    } finally {
      silence.end();
    }
  }

  async #read(
    body: ReadableStream<Uint8Array>,
    silence: Silence,
    left: AbortSignal,
  ): Promise<"reading" | "lost"> {
    const events = new EventReader();
    const reader = body.getReader();
    let hasFrames = false;
    for (;;) {
      const next = await reader.read().catch(() => undefined);
      if (left.aborted) return "reading"; // closed by the reader, so not lost
      // An empty response counts as lost, so that the retry waits.
      if (!next || silence.signal.aborted || (next.done && !hasFrames)) return this.#be("lost");
      if (next.done) return "reading";
      silence.broken();
      const frames = events.feed(next.value);
      if (!frames.length) continue;
      hasFrames = true;
      this.#backoff.renew();
      this.#cursor = frames.findLast(({ cursor }) => cursor !== undefined)?.cursor ?? this.#cursor;
      this.onFrames(frames);
    }
  }

  #failed(error: unknown, signal: AbortSignal): ReadingState["phase"] {
    if (signal.aborted) return "over";
    if (error instanceof DOMException && error.name === "AbortError") return this.#be("lost");
    const { kind } = failureOf(error);
    if (kind === "lost" || kind === "gone") return this.#be(kind);
    this.state.set({ phase: "failed", problem: failureMessage(error) });
    return "failed";
  }

  #be<P extends ReadingState["phase"]>(phase: P): P {
    if (this.state.get().phase !== phase) this.state.set({ phase, problem: undefined });
    return phase;
  }
}

/** Aborts a request that is closed, or receives no bytes for `SILENCE`; heartbeats count. */
class Silence {
  #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #forget = new AbortController();

  constructor(left: AbortSignal) {
    left.addEventListener("abort", () => this.#ending.abort(), { signal: this.#forget.signal });
    this.broken();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  broken(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ending.abort(), SILENCE);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#forget.abort();
  }
}
