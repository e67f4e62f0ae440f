import { useEffect, useState } from "react";
import { fold, type Messages } from "@/panes/fold";
import { readMessage } from "@/panes/wire";
import { type ReadingState, RunReader } from "@/runs/reader";
import type { Told } from "@/runs/sse";
import { Store, useStore } from "@/state/store";

/** What the panes know of one run. */
class PanesReading {
  readonly messages = new Store<{ all: Messages }>({ all: new Map() });
  readonly reader: RunReader;

  constructor(runId: string) {
    const route = { path: "events", query: { format: "panes" } } as const;
    this.reader = new RunReader(runId, route, (told) => this.#hear(told));
  }

  #hear(told: Told[]): void {
    const heard = told.map(({ data }) => readMessage(data)).filter((each) => each !== undefined);
    this.messages.set({ all: fold(this.messages.get().all, heard) });
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
  useEffect(() => reading.reader.open(), [reading]);
  const { all } = useStore(reading.messages);
  const state = useStore(reading.reader.state);
  return { ...state, messages: all, retry: () => setReading(new PanesReading(runId)) };
}
