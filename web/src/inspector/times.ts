import type { Entry } from "@/inspector/entries";
import { strings } from "@/strings";

const words = strings.inspector;

/** Formats the time since the start and since the previous entry, if the log has times. */
export interface Times {
  since: string;
  step: string;
}

export function timesOf(entries: readonly Entry[], entry: Entry): Times {
  const start = entries[0]?.ts ?? null;
  const before = entries[entry.seq - 2]?.ts ?? null;
  if (entry.ts === null || start === null) return { since: words.noTime, step: "" };
  return {
    since: words.seconds(((entry.ts - start) / 1000).toFixed(3)),
    // Most entries have the time of the previous one: show no difference.
    step: before === null || entry.ts === before ? "" : words.step(span(entry.ts - before)),
  };
}

/** The shortest form. */
export function span(milliseconds: number): string {
  if (milliseconds < 1_000) return words.milliseconds(milliseconds);
  if (milliseconds < 60_000) return words.seconds((milliseconds / 1000).toFixed(1));
  const seconds = Math.floor(milliseconds / 1000);
  return words.minutes(Math.floor(seconds / 60), seconds % 60);
}
