import { useEffect, useState } from "react";
import { fold, type Messages } from "@/panes/fold";
import { type PaneMessage, readMessage } from "@/panes/wire";
import { Gathering } from "@/runs/gathering";
import { type ReadingState, RunReader } from "@/runs/reader";
import type { Received } from "@/runs/sse";
import { Store, useStore } from "@/store";

/** The panes' state of one run. */
export class PanesReading {
  readonly messages = new Store<{ all: Messages }>({ all: new Map() });
  readonly reader: RunReader;
  #pending: PaneMessage[] = [];
  #gathering = new Gathering(() => {
    const received = this.#pending;
    this.#pending = [];
    this.messages.set({ all: fold(this.messages.get().all, received) });
  });

  constructor(runId: string) {
    const route = { path: "events", query: { format: "panes" } } as const;
    this.reader = new RunReader(runId, route, (frames) => this.#receive(frames));
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

  #receive(frames: Received[]): void {
    const received = frames
      .map(({ data }) => readMessage(data))
      .filter((each) => each !== undefined);
    this.#pending.push(...received);
    if (received.length) this.#gathering.add();
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
