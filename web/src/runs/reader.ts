import { address, Refused } from "@/api";
import { failureOf, tellFailure } from "@/failure";
import { fetchWithKey } from "@/key";
import { Patience, SILENCE } from "@/runs/patience";
import { pause } from "@/runs/pause";
import { EventReader, type Told } from "@/runs/sse";
import { Store } from "@/store";

export interface ReadingState {
  /** `lost`: it goes on by itself; `over`: all is there; `gone`: there is no such run (any more). */
  phase: "reading" | "lost" | "over" | "gone" | "failed";
  /** Why it failed, in words. */
  problem?: string;
}

interface Route {
  /** Below `api/runs/{id}/`. */
  path: "events" | "inspect";
  query?: Record<string, string>;
}

/**
 * What happens in one run, from its beginning until it is over or nobody wants to know any more.
 *
 * Rule 1: a connection that breaks is made again from the last cursor: nothing is told twice.
 * Rule 2: a response that ends is asked for once more; the server's 204 says that it was the last one.
 * Rule 3: a page that nobody looks at reads nothing: browsers let few connections to one server be
 *         open, of all tabs together. It goes on when it is looked at.
 */
export class RunReader {
  readonly state = new Store<ReadingState>({ phase: "reading" });
  #patience = new Patience();
  #cursor: string | undefined;

  /** `onTold` gets what arrived together, in one go. */
  constructor(
    readonly runId: string,
    readonly route: Route,
    readonly onTold: (told: Told[]) => void,
  ) {}

  /** Begins to read; the function that comes back ends it. */
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
      await pause(this.#patience.next(), signal);
    }
  }

  async #request(signal: AbortSignal): Promise<ReadingState["phase"]> {
    const { path, query } = this.route;
    const silence = new Silence(signal);
    const url = address(`api/runs/${encodeURIComponent(this.runId)}/${path}`, {
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
    let hasTold = false;
    for (;;) {
      const next = await reader.read().catch(() => undefined);
      if (left.aborted) return "reading"; // nobody has lost what nobody wants
      // One that ends without a word would be asked for again and again.
      if (!next || silence.signal.aborted || (next.done && !hasTold)) return this.#be("lost");
      if (next.done) return "reading";
      silence.broken();
      const told = events.feed(next.value);
      if (!told.length) continue;
      hasTold = true;
      this.#patience.renew();
      this.#cursor = told.findLast(({ cursor }) => cursor !== undefined)?.cursor ?? this.#cursor;
      this.onTold(told);
    }
  }

  #failed(error: unknown, signal: AbortSignal): ReadingState["phase"] {
    if (signal.aborted) return "over";
    if (error instanceof DOMException && error.name === "AbortError") return this.#be("lost");
    const { kind } = failureOf(error);
    if (kind === "lost" || kind === "gone") return this.#be(kind);
    this.state.set({ phase: "failed", problem: tellFailure(error) });
    return "failed";
  }

  #be<P extends ReadingState["phase"]>(phase: P): P {
    if (this.state.get().phase !== phase) this.state.set({ phase, problem: undefined });
    return phase;
  }
}

/** Ends a request that is left, or in which nothing comes for long; a heartbeat is something. */
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
