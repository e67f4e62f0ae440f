import type { Entry, Event } from "@/inspector/entries";

/** Event types of consecutive deltas of one block. */
const DELTAS: Readonly<Record<string, true>> = {
  text_delta: true,
  thinking_delta: true,
  tool_use_delta: true,
};

/** One row of the inspector: an entry, or consecutive deltas of one block. */
export interface Group {
  /** Never empty. */
  entries: [Entry, ...Entry[]];
}

/** Groups the entries in order; each entry is in exactly one group. */
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

/** The joined text of a group's deltas. */
export const joinedText = ({ entries }: Group): string =>
  entries.map(({ event }) => (typeof event.delta === "string" ? event.delta : "")).join("");

/** A visible row: a group, or one entry of an open group. */
export interface Item {
  key: string;
  group: Group;
  /** Its entry, unless it has several. */
  entry?: Entry;
  level: 1 | 2;
}

/** The visible rows, given the open groups. */
export function rowsOf(groups: readonly Group[], open: ReadonlySet<string>): Item[] {
  return groups.flatMap((group): Item[] => {
    const [first] = group.entries;
    if (!isMany(group)) return [{ key: keyOf(first), group, entry: first, level: 1 }];
    const head: Item = { key: `${first.seq}+`, group, level: 1 };
    if (!open.has(head.key)) return [head];
    return [head, ...group.entries.map((entry) => nested(group, entry))];
  });
}

/** Rows by key, independent of the filter. */
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
