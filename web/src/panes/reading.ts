import { useEffect, useState } from "react";
import { fold, type Messages } from "@/panes/fold";
import { type PaneMessage, readMessage } from "@/panes/wire";
import { Gathering } from "@/runs/gathering";
import { type ReadingState, RunReader } from "@/runs/reader";
import type { Told } from "@/runs/sse";
import { Store, useStore } from "@/store";

/** The panes' state of one run. */
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
    // Flush first: a subscriber of the state then has all messages read until now.
    this.reader.state.subscribe(this.#gathering.flush);
  }

  /** Starts reading; returns the function that stops it and shows the remaining messages. */
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
  /** Reads the run again from the start. */
  retry: () => void;
}

/** Reads a run while the component is mounted; one component, one run. */
export function usePanes(runId: string): Reading {
  const [reading, setReading] = useState(() => new PanesReading(runId));
  useEffect(() => reading.open(), [reading]);
  const { all } = useStore(reading.messages);
  const state = useStore(reading.reader.state);
  return { ...state, messages: all, retry: () => setReading(new PanesReading(runId)) };
}
