import type { Entry, Line } from "@/inspector/entries";
import { fold, joinedText } from "@/inspector/folding";
import { oneLine } from "@/inspector/preview";

/** A row of stdout: a line, or the lines of consecutive deltas of one block. */
export interface StdoutRow {
  key: string;
  /** The first of them. */
  line: Line;
  /** How many lines it stands for. */
  folded: number;
  isOpen: boolean;
  /** The joined text of the deltas. */
  text: string;
}

const single = (line: Line): StdoutRow => ({
  key: String(line.n),
  line,
  folded: 1,
  isOpen: false,
  text: "",
});

/** The lines, folded as the events are; `open` has the first lines of the unfolded rows. */
export function stdoutRows(entries: readonly Entry[], open: ReadonlySet<number>): StdoutRow[] {
  return fold(entries).flatMap((group): StdoutRow[] => {
    const lines = group.entries.flatMap((entry) => entry.lines);
    const [first] = lines;
    if (!first || group.entries.length === 1 || lines.length === 1) return lines.map(single);
    const isOpen = open.has(first.n);
    const text = oneLine(joinedText(group));
    const head = { key: `${first.n}+`, line: first, folded: lines.length, isOpen, text };
    return isOpen ? [head, ...lines.map(single)] : [head];
  });
}
