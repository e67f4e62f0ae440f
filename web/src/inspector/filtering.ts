import { type Entry, OURS } from "@/inspector/entries";
import { type Group, joinedText } from "@/inspector/folding";

export interface Filter {
  /** Event types; empty: all. */
  types: readonly string[];
  /** Text in the line, the event or a frame, case-insensitive. */
  text: string;
}

export const ALL: Filter = { types: [], text: "" };
export const isAll = ({ types, text }: Filter): boolean => types.length === 0 && text === "";

/** The matching groups, whole: the context explains a match. */
export function filtered(groups: Group[], filter: Filter, format: string): Group[] {
  if (isAll(filter)) return groups;
  const text = filter.text.toLowerCase();
  return groups.filter((group) => {
    const [first] = group.entries;
    const isType = filter.types.length === 0 || filter.types.includes(first.event.type);
    return isType && (text === "" || hasWords(group, text, format));
  });
}

function hasWords(group: Group, text: string, format: string): boolean {
  return (
    group.entries.some((entry) => wordsOf(entry, format).includes(text)) ||
    joinedText(group).toLowerCase().includes(text)
  );
}

const known = new WeakMap<Entry, { format: string; words: string }>();

/** The searchable text of an entry, without the frames that only the page reads. */
function wordsOf(entry: Entry, format: string): string {
  const before = known.get(entry);
  if (before?.format === format) return before.words;
  const frames = [entry.frames[format] ?? entry.frames[OURS], entry.endings[format]];
  const lines = entry.lines.map(({ line }) => line).join("\n");
  const words = `${lines}\n${JSON.stringify([entry.event, frames])}`.toLowerCase();
  known.set(entry, { format, words });
  return words;
}

export interface Counted {
  type: string;
  count: number;
}

/** The event types in order of appearance, with their counts. */
export function typesOf(entries: readonly Entry[]): Counted[] {
  const counts = new Map<string, number>();
  for (const { event } of entries) counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
  return Array.from(counts, ([type, count]) => ({ type, count }));
}
