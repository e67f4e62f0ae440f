/** What the server tells of a run: entries of its log, with the lines and the frames of each. */
import { PROFILE } from "@/api";

export interface Line {
  n: number;
  /** The entries that were parsed from it; one that made none has `lastSeq` before `firstSeq`. */
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

/** A document of a format: JSON, or the text that ends a stream. */
export type Frame = Record<string, unknown> | string;

export interface Entry {
  /** Dense, from 1 on. */
  seq: number;
  id: number;
  /** In milliseconds; an entry may have none. */
  ts: number | null;
  event: Event;
  lines: Line[];
  /** By format, and perhaps profile, as they were asked for. */
  frames: Record<string, Frame[]>;
  /** What ends a response that ends here, as it may where the run begins to wait. */
  endings: Record<string, Frame[]>;
  /** The run waits for an answer after this. */
  waits: boolean;
  /** It is a line, or a part of one, that no parser understood. */
  unread?: boolean;
}

/** What the page itself reads: of these frames the chat is made. */
export const OURS = `ai-sdk:${PROFILE}`;

export const framesOf = (entry: Entry, format: string): Frame[] => entry.frames[format] ?? [];
export const endingOf = (entry: Entry, format: string): Frame[] => entry.endings[format] ?? [];

/** How many lines, or parts of lines, were not understood. */
export const countUnread = (entries: readonly Entry[]): number =>
  entries.filter(({ unread }) => unread).length;

/** The run is over: nothing comes after this. */
export const isOver = (entries: readonly Entry[]): boolean => entries.at(-1)?.event.type === "done";

/** Where the line is from which an entry was parsed. */
export type Origin =
  /** It is the first entry of one. */
  | "own"
  /** An entry before it has it. */
  | "above"
  /** There is none: Mobox made it itself. */
  | "mobox";

/** By their places in the log. */
export function originsOf(entries: readonly Entry[]): Origin[] {
  let last = 0;
  return entries.map(({ seq, lines }) => {
    last = Math.max(last, ...lines.map(({ lastSeq }) => lastSeq));
    if (lines.some(({ lastSeq }) => lastSeq >= seq)) return "own";
    return seq <= last ? "above" : "mobox";
  });
}
