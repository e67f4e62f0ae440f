import { useDeferredValue, useMemo } from "react";
import type { Format } from "@/api";
import { countUnread, isOver, originsOf } from "@/inspector/entries";
import { ALL, filtered, isAll, typesOf } from "@/inspector/filtering";
import { fold, type Item, pinnedRows, rowsOf } from "@/inspector/folding";
import { type Chosen, nameOfFormat, readFormat } from "@/inspector/formats";
import { Grid, holds, type RowData } from "@/inspector/Grid";
import { Pinned } from "@/inspector/Pinned";
import { Filtering, FormatMenu, PauseButton } from "@/inspector/Toolbar";
import { timesOf } from "@/inspector/times";
import type { EventsView } from "@/inspector/useEventsView";
import type { InspectedRun } from "@/inspector/useRun";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.inspector;

interface EventsProps {
  runId: string;
  run: InspectedRun;
  view: EventsView;
  formats: readonly Format[];
  chosen: Chosen;
  onChoose: (chosen: Chosen) => void;
  /** The entry to go to; a new object for each time. */
  target: { seq: number } | undefined;
}

/** All events of the run, each with its raw line and its frames. */
export function Events({ runId, run, view, formats, chosen, onChoose, target }: EventsProps) {
  const { entries, held, toggle, filter, setFilter, open, toggleOpen } = view;
  const { pinned, togglePin, at } = view;

  const groups = useMemo(() => fold(entries), [entries]);
  const origins = useMemo(() => originsOf(entries), [entries]);
  const types = useMemo(() => typesOf(entries), [entries]);
  const unread = useMemo(() => countUnread(entries), [entries]);
  const wanted = useDeferredValue(filter);
  const kept = useMemo(() => filtered(groups, wanted, run.format), [groups, wanted, run.format]);
  const rows = useMemo(() => rowsOf(kept, open), [kept, open]);
  const live = !isOver(run.entries);

  const rowProps = (item: Item): RowData => {
    const entry = item.entry ?? item.group.entries[0];
    return {
      runId,
      format: run.format,
      origin: origins[entry.seq - 1] ?? "mobox",
      times: timesOf(entries, entry),
      open: open.has(item.key),
      pinned: pinned.has(item.key),
      moment: momentOf(item, at),
      onToggle: (it) => toggleOpen(it.key),
      onPin: (it) => togglePin(it.key),
    };
  };
  return (
    <>
      <div className="flex shrink-0 flex-wrap items-center gap-1.5 border-b px-3 py-1.5">
        <FormatMenu formats={formats} chosen={chosen} onChoose={onChoose} />
        <Filtering filter={filter} types={types} onFilter={setFilter} />
        {(live || held !== undefined) && (
          <PauseButton
            missed={held === undefined ? undefined : run.entries.length - held}
            onToggle={toggle}
          />
        )}
      </div>
      <Pinned rows={pinnedRows(groups, pinned)} rowProps={rowProps} />
      {rows.length > 0 ? (
        <Grid
          runId={runId}
          rows={rows}
          rowProps={rowProps}
          live={live && held === undefined && at === undefined}
          at={at}
          target={target}
          format={nameOfFormat(readFormat(run.format))}
        />
      ) : (
        <div className="flex flex-1 flex-col items-center gap-3 px-6 py-10 text-block text-ink-2">
          {words.noMatch}
          <Button onClick={() => setFilter(ALL)}>{words.showAll}</Button>
        </div>
      )}
      <p className="shrink-0 border-t px-3 py-1 text-label text-ink-2 tabular-nums">
        {isAll(wanted)
          ? words.counts(entries.length, groups.length)
          : words.filteredCounts(kept.length, groups.length)}
        {unread > 0 && (
          <>
            {" · "}
            <button
              type="button"
              title={words.showUnread}
              className="underline"
              onClick={() => setFilter({ ...ALL, types: ["raw"] })}
            >
              {words.unread(unread)}
            </button>
          </>
        )}
      </p>
    </>
  );
}

function momentOf(item: Item, at: number | undefined): RowData["moment"] {
  if (at === undefined) return undefined;
  if (holds(item, at)) return "now";
  return (item.entry ?? item.group.entries[0]).seq > at ? "later" : undefined;
}
