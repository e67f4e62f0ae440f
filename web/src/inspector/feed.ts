import { type Entry, isOver } from "@/inspector/entries";
import { Gathering } from "@/runs/gathering";
import { type ReadingState, RunReader } from "@/runs/reader";
import type { Received } from "@/runs/sse";
import { Store } from "@/store";

/** Reads the entries of a run from the inspect route: stored ones first, then live. */
export class Feed {
  readonly #reader: RunReader;
  readonly entries = new Store<{ all: readonly Entry[] }>({ all: [] });
  #read: Entry[] = [];
  #gathering = new Gathering(() => this.entries.set({ all: [...this.#read] }));

  constructor(runId: string, formats: readonly string[]) {
    const route = { path: "inspect", query: { format: formats.join(",") } } as const;
    this.#reader = new RunReader(runId, route, (frames) => this.#receive(frames));
  }

  get state(): Store<ReadingState> {
    return this.#reader.state;
  }

  /** Starts reading; returns the function that stops it. */
  open(): () => void {
    const leave = this.#reader.open();
    return () => {
      leave();
      this.#gathering.drop();
    };
  }

  #receive(frames: Received[]): void {
    for (const { data } of frames) this.#read.push(JSON.parse(data) as Entry);
    this.#gathering.add();
  }
}

/** The state of the run and of its connection. */
export type Phase = "loading" | "live" | "waiting" | "over" | "lost" | "gone" | "failed";

/** Shows the previously read entries until as many have been read again. */
export function phaseOf(
  reading: ReadingState["phase"],
  read: readonly Entry[],
  shown: readonly Entry[] = read,
): Phase {
  const isStuck = reading !== "reading" && reading !== "over";
  if (isStuck && !isOver(read)) return reading;
  const last = shown.at(-1);
  if (last === undefined) return "loading";
  if (isOver(shown)) return "over";
  return last.waits ? "waiting" : "live";
}
