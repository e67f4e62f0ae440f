import type { Entry } from "@/inspector/entries";

/** Longer pauses between two events are played as this many milliseconds. */
export const LONGEST = 1_500;
/** Between events of a log without times. */
const UNTIMED = 40;

export interface Schedule {
  /** When each entry is played, in milliseconds at normal speed. */
  times: readonly number[];
  /** The real length of each shortened pause, by the `seq` of the entry before it. */
  gaps: ReadonlyMap<number, number>;
}

/** When to play each entry: as it was recorded, with long pauses shortened. */
export function scheduleOf(entries: readonly Entry[]): Schedule {
  const times: number[] = [];
  const gaps = new Map<number, number>();
  let clock = 0;
  let before: number | null = null;
  for (const { ts, seq } of entries) {
    const pause = ts === null ? UNTIMED : before === null ? 0 : Math.max(0, ts - before);
    if (pause > LONGEST) gaps.set(seq - 1, pause);
    clock += Math.min(pause, LONGEST);
    times.push(clock);
    before = ts ?? before;
  }
  return { times, gaps };
}

/** The number of entries played at a time; at least one. */
export function playedAt({ times }: Schedule, clock: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= clock) low = middle + 1;
    else high = middle;
  }
  return Math.max(1, low);
}
