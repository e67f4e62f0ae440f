import { getFormats, keepRecording, readRecording } from "@/api";
import { failureMessage } from "@/failure";
import { type Entry, OURS } from "@/inspector/entries";
import type { Reading, RunSource } from "@/inspector/source";
import { Gathering } from "@/runs/gathering";
import type { ReadingState } from "@/runs/reader";
import { EventReader } from "@/runs/sse";
import { Store } from "@/store";
import { strings } from "@/strings";

/** The value of `framework` that lets the server detect it. */
export const AUTO = "auto";

/** How the server reads a recording. */
export interface RecordingFacts {
  kind: "output" | "log" | "cassette";
  framework: string;
  /** What its lines look like; no `framework`: there is no parser for it. */
  detected: { name: string; framework: string | null } | null;
  frameworks: string[];
  /** The user's message, where the recording has it. */
  prompt: string | null;
}

interface Document extends Partial<Entry> {
  recording?: RecordingFacts;
  /** The rest was not read. */
  error?: string;
}

let count = 0;

/** A recording, sent to the server with each format that is read: the server stores nothing. */
export class Recording implements RunSource {
  readonly id = "recording";
  /** Differs from that of every other: another file may have the same name. */
  readonly key = ++count;
  readonly formats = getFormats;
  readonly facts = new Store<{ known?: RecordingFacts }>({});
  #readings = new Map<string, RecordedReading>();

  constructor(
    readonly file: File,
    readonly framework: string = AUTO,
  ) {}

  /** The chat and the inspector share the reading of the same formats. */
  read(formats: readonly string[]): Reading {
    const key = formats.join(",");
    const known = this.#readings.get(key) ?? new RecordedReading(this, key);
    this.#readings.set(key, known);
    return known;
  }

  /** With the frames of which the chat is made. */
  get own(): Reading {
    return this.read([OURS]);
  }

  /** Stores it as a chat; returns its id. */
  keep = async (): Promise<string> => {
    await readable(this.file);
    return keepRecording(this.file, { framework: this.framework, name: this.file.name });
  };

  async events(): Promise<string[]> {
    const { all } = this.own.entries.get();
    return all.map(({ seq, id, ts, event }) => JSON.stringify({ seq, id, ts, event }));
  }
}

class RecordedReading implements Reading {
  readonly entries = new Store<{ all: readonly Entry[] }>({ all: [] });
  readonly state = new Store<ReadingState>({ phase: "reading" });
  #read: Entry[] = [];
  #gathering = new Gathering(() => this.entries.set({ all: [...this.#read] }));
  #users = 0;
  #leaving: AbortController | undefined;

  constructor(
    readonly recording: Recording,
    readonly format: string,
  ) {}

  /** What was read stays: who opens it again goes on from there, or has all of it. */
  open(): () => void {
    this.#users += 1;
    if (this.state.get().phase === "reading" && !this.#leaving) void this.#follow();
    return () => {
      this.#users -= 1;
      // React opens an effect twice: only leave if nobody is left a moment later.
      queueMicrotask(() => this.#users === 0 && this.#leave());
    };
  }

  #leave(): void {
    this.#leaving?.abort();
    this.#leaving = undefined;
    if (this.state.get().phase === "reading") this.#read = [];
  }

  async #follow(): Promise<void> {
    const leaving = new AbortController();
    this.#leaving = leaving;
    try {
      await this.#request(leaving.signal);
      this.#gathering.flush();
      if (!leaving.signal.aborted) this.state.set({ phase: "over" });
    } catch (error) {
      if (leaving.signal.aborted) return;
      this.#gathering.flush();
      this.state.set({ phase: "failed", problem: failureMessage(error) });
    }
  }

  async #request(signal: AbortSignal): Promise<void> {
    const { file, framework } = this.recording;
    await readable(file);
    const response = await readRecording(file, { framework, format: this.format }, signal);
    const reader = response.body?.getReader();
    const events = new EventReader();
    for (;;) {
      const next = await reader?.read();
      if (!next || next.done) return;
      for (const { data } of events.feed(next.value)) this.#receive(JSON.parse(data) as Document);
    }
  }

  #receive({ recording, error, ...entry }: Document): void {
    if (recording) this.recording.facts.set({ known: recording });
    else if (error) throw new Error(error);
    else {
      this.#read.push(entry as Entry);
      this.#gathering.add();
    }
  }
}

/** Throws if the file was moved or changed: its upload would fail as if the server were away. */
async function readable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error(strings.viewing.gone);
  }
}
