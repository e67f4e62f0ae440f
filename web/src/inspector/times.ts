import type { Entry } from "@/inspector/entries";
import { strings } from "@/strings";

const words = strings.inspector;

/** Since the run began, and since the entry before it: in words, if the log has times. */
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
    // Most come with the one before, which need not be said of each.
    step: before === null || entry.ts === before ? "" : words.step(span(entry.ts - before)),
  };
}

/** As short as it can be said. */
export function span(milliseconds: number): string {
  if (milliseconds < 1_000) return words.milliseconds(milliseconds);
  if (milliseconds < 60_000) return words.seconds((milliseconds / 1000).toFixed(1));
  const seconds = Math.floor(milliseconds / 1000);
  return words.minutes(Math.floor(seconds / 60), seconds % 60);
}
