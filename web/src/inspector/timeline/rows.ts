import type { Span } from "@/inspector/timeline/spans";

/** A visible row of the tree. */
export interface SpanRow {
  span: Span;
  /** From 1 on. */
  level: number;
  /** Its place among the children of its parent, from 1 on, and how many these are. */
  place: number;
  of: number;
}

/** The rows in order, without those below closed ones. A log may nest as deep as it likes: no recursion. */
export function visibleRows(root: Span, closed: ReadonlySet<string>): SpanRow[] {
  const rows: SpanRow[] = [];
  const next: SpanRow[] = [{ span: root, level: 1, place: 1, of: 1 }];
  for (let row = next.pop(); row; row = next.pop()) {
    rows.push(row);
    const { span, level } = row;
    if (closed.has(span.key)) continue;
    const of = span.children.length;
    for (let at = of - 1; at >= 0; at--) {
      const child = span.children[at];
      if (child) next.push({ span: child, level: level + 1, place: at + 1, of });
    }
  }
  return rows;
}

const FACTORS = [1, 2, 5, 10];
const MOST_TICKS = 6;

/** Behind this part of a scale, the text of a tick would reach into the next column. */
const ROOM = 0.9;

/** Round numbers from 0 to the end of a scale. */
export function ticksOf(length: number): number[] {
  const least = Math.max(length, 1) / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, power * (FACTORS.find((factor) => factor * power >= least) ?? 10));
  const ticks: number[] = [];
  for (let tick = 0; tick < length * ROOM; tick += step) ticks.push(tick);
  return ticks;
}

type Move = (index: number, rows: readonly SpanRow[], isOpen: boolean) => number | "open" | "close";

/** The keys of a tree: where they move to, or what they do to the row. */
export const TREE_KEYS: Readonly<Record<string, Move>> = {
  ArrowDown: (index) => index + 1,
  ArrowUp: (index) => index - 1,
  Home: () => 0,
  End: (_, rows) => rows.length - 1,
  PageDown: (index) => index + 10,
  PageUp: (index) => index - 10,
  ArrowRight: (index, rows, isOpen) => {
    const hasChildren = (rows[index]?.span.children.length ?? 0) > 0;
    if (!hasChildren) return index;
    return isOpen ? index + 1 : "open";
  },
  ArrowLeft: (index, rows, isOpen) => {
    const row = rows[index];
    if (row && row.span.children.length > 0 && isOpen) return "close";
    const above = rows.findLastIndex((each, at) => at < index && each.level < (row?.level ?? 0));
    return Math.max(above, 0);
  },
};
