import {
  type AttemptStderr,
  type Format,
  getFormats,
  getModelCall,
  getModelCalls,
  getStderr,
  type ModelCallBodies,
  type ModelCallList,
  readRun,
} from "@/api";
import type { Entry } from "@/inspector/entries";
import { Feed } from "@/inspector/feed";
import { linkSecret } from "@/link";
import type { ReadingState } from "@/runs/reader";
import { EventReader } from "@/runs/sse";
import type { Store } from "@/store";

/** A run being read: its entries so far, and whether more will come. */
export interface Reading {
  readonly entries: Store<{ all: readonly Entry[] }>;
  readonly state: Store<ReadingState>;
  /** Starts reading; returns the function that stops it. */
  open(): () => void;
}

/** Where the inspector's data comes from. What a source does not have, the inspector does not show. */
export interface RunSource {
  /** The id of the run, and of its message. */
  readonly id: string;
  /** The formats in which its frames can be read. */
  formats(): Promise<readonly Format[]>;
  /** Reads it with frames in these formats: names, or `name:profile`. */
  read(formats: readonly string[]): Reading;
  stderr?(): Promise<AttemptStderr[]>;
  /** The log as lines of JSON, for a download. */
  events?(): Promise<string[]>;
  modelCalls?(): Promise<ModelCallList>;
  modelCall?(n: number): Promise<ModelCallBodies>;
}

/** A run of the server: stored, and live while it goes on. */
export const storedRun = (id: string): RunSource => ({
  id,
  formats: getFormats,
  read: (formats) => new Feed(id, formats),
  // Readers of a link see what the agent did, not what it ran on.
  ...(linkSecret() === undefined && {
    stderr: () => getStderr(id),
    modelCalls: () => getModelCalls(id),
    modelCall: (n: number) => getModelCall(id, n),
  }),
  events: async () => {
    const response = await readRun(id, "canonical");
    const frames = new EventReader().feed(new Uint8Array(await response.arrayBuffer()));
    return frames.map(({ data }) => data);
  },
});
