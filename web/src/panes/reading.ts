import { useEffect, useState } from "react";
import { fold, type Messages } from "@/panes/fold";
import { type PaneMessage, readMessage } from "@/panes/wire";
import { Gathering } from "@/runs/gathering";
import { type ReadingState, RunReader } from "@/runs/reader";
import type { Told } from "@/runs/sse";
import { Store, useStore } from "@/store";

/** What the panes know of one run. */
export class PanesReading {
  readonly messages = new Store<{ all: Messages }>({ all: new Map() });
  readonly reader: RunReader;
  #heard: PaneMessage[] = [];
  #gathering = new Gathering(() => {
    const heard = this.#heard;
    this.#heard = [];
    this.messages.set({ all: fold(this.messages.get().all, heard) });
  });

  constructor(runId: string) {
    const route = { path: "events", query: { format: "panes" } } as const;
    this.reader = new RunReader(runId, route, (told) => this.#hear(told));
    // Who hears how the reading stands has all that was read until then.
    this.reader.state.subscribe(this.#gathering.flush);
  }

  /** Begins to read; the function that comes back ends it, and shows what there is. */
  open(): () => void {
    const leave = this.reader.open();
    return () => {
      leave();
      this.#gathering.flush();
    };
  }

  #hear(told: Told[]): void {
    const heard = told.map(({ data }) => readMessage(data)).filter((each) => each !== undefined);
    this.#heard.push(...heard);
    if (heard.length) this.#gathering.add();
  }
}

interface Reading extends ReadingState {
  messages: Messages;
  /** Reads all of it once more. */
  retry: () => void;
}

/** Reads a run for as long as somebody looks; one component, one run. */
export function usePanes(runId: string): Reading {
  const [reading, setReading] = useState(() => new PanesReading(runId));
  useEffect(() => reading.open(), [reading]);
  const { all } = useStore(reading.messages);
  const state = useStore(reading.reader.state);
  return { ...state, messages: all, retry: () => setReading(new PanesReading(runId)) };
}
