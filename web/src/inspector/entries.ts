/** Log entries of a run, each with its raw lines and its frames, as sent by the inspect route. */
import { PROFILE } from "@/api";

export interface Line {
  n: number;
  /** The entries parsed from it; a line without an event has `lastSeq` before `firstSeq`. */
  firstSeq: number;
  lastSeq: number;
  line: string;
}

export interface Event {
  type: string;
  id?: string;
  scope?: string[];
  [field: string]: unknown;
}

/** A frame: JSON, or the text that ends a stream. */
export type Frame = Record<string, unknown> | string;

export interface Entry {
  /** Consecutive, from 1 on. */
  seq: number;
  id: number;
  /** In milliseconds; an entry may have none. */
  ts: number | null;
  event: Event;
  lines: Line[];
  /** By the requested format, with its profile if there is one. */
  frames: Record<string, Frame[]>;
  /** The frames that end a response here, as when the run starts to wait. */
  endings: Record<string, Frame[]>;
  /** The run waits for an answer after this. */
  waits: boolean;
  /** A line, or a part of one, that no parser recognized. */
  unread?: boolean;
}

/** The format that the page itself reads for the chat. */
export const OURS = `ai-sdk:${PROFILE}`;

export const framesOf = (entry: Entry, format: string): Frame[] => entry.frames[format] ?? [];
export const endingOf = (entry: Entry, format: string): Frame[] => entry.endings[format] ?? [];

/** The number of unrecognized lines or parts of lines. */
export const countUnread = (entries: readonly Entry[]): number =>
  entries.filter(({ unread }) => unread).length;

/** The run has ended: no entry follows. */
export const isOver = (entries: readonly Entry[]): boolean => entries.at(-1)?.event.type === "done";

/** Where the raw line of an entry is shown. */
export type Origin =
  /** This entry is the first of its line. */
  | "own"
  /** An earlier entry shows it. */
  | "above"
  /** No line: Mobox added the event. */
  | "mobox";

/** By their `seq`. */
export function originsOf(entries: readonly Entry[]): Origin[] {
  let last = 0;
  return entries.map(({ seq, lines }) => {
    last = Math.max(last, ...lines.map(({ lastSeq }) => lastSeq));
    if (lines.some(({ lastSeq }) => lastSeq >= seq)) return "own";
    return seq <= last ? "above" : "mobox";
  });
}
