import type { Entry, Event } from "@/inspector/entries";

/** Pieces of one block that come one after the other. */
const DELTAS: Readonly<Record<string, true>> = {
  text_delta: true,
  thinking_delta: true,
  tool_use_delta: true,
};

/** One row of the inspector: an entry, or pieces of one block that came one after the other. */
export interface Group {
  /** The first is always there. */
  entries: [Entry, ...Entry[]];
}

/** The entries in groups, in their order; all are there, each once. */
export function fold(entries: readonly Entry[]): Group[] {
  const groups: Group[] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (last && goesOn(last.entries[0].event, entry.event)) last.entries.push(entry);
    else groups.push({ entries: [entry] });
  }
  return groups;
}

const goesOn = (first: Event, then: Event): boolean =>
  first.type === then.type && DELTAS[then.type] === true && first.id === then.id;

export const isMany = ({ entries }: Group): boolean => entries.length > 1;

/** What the pieces of a group say together. */
export const saidBy = ({ entries }: Group): string =>
  entries.map(({ event }) => (typeof event.delta === "string" ? event.delta : "")).join("");

/** A row that is shown: of a group, or of one of the entries in a group that is open. */
export interface Item {
  key: string;
  group: Group;
  /** The entry that it is about, unless it is about several. */
  entry?: Entry;
  level: 1 | 2;
}

/** The rows that are shown, where these are open. */
export function rowsOf(groups: readonly Group[], open: ReadonlySet<string>): Item[] {
  return groups.flatMap((group): Item[] => {
    const [first] = group.entries;
    if (!isMany(group)) return [{ key: keyOf(first), group, entry: first, level: 1 }];
    const head: Item = { key: `${first.seq}+`, group, level: 1 };
    if (!open.has(head.key)) return [head];
    return [head, ...group.entries.map((entry) => nested(group, entry))];
  });
}

/** Rows by their keys, however they are filtered. */
export function pinnedRows(groups: readonly Group[], keys: ReadonlySet<string>): Item[] {
  if (keys.size === 0) return [];
  const all = rowsOf(groups, keys);
  const every = all.flatMap((item) =>
    item.entry || keys.has(item.key)
      ? [item]
      : item.group.entries.map((entry) => nested(item.group, entry)),
  );
  return every.filter(({ key }) => keys.has(key)).map((item) => ({ ...item, level: 1 }));
}

const nested = (group: Group, entry: Entry): Item => ({
  key: keyOf(entry),
  group,
  entry,
  level: 2,
});

const keyOf = ({ seq }: Entry): string => String(seq);
