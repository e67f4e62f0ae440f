import { useCallback, useMemo, useState } from "react";
import { ALL, type Filter } from "@/inspector/filtering";
import { useReplaying } from "@/inspector/useReplaying";
import type { InspectedRun } from "@/inspector/useRun";

export type EventsView = ReturnType<typeof useEventsView>;

/** The user's filter, pins and open rows of a run, kept while another view is shown. */
export function useEventsView(runId: string, run: InspectedRun) {
  const paused = usePause(run);
  const [filter, setFilter] = useState<Filter>(ALL);
  const [open, toggleOpen] = useKeys();
  const [pinned, togglePin] = useKeys();
  const [at, setAt] = useState<number>();
  const leave = useCallback(() => setAt(undefined), []);
  useReplaying(runId, paused.entries, at, leave);
  /** Nothing is filtered out, or withheld by a pause. */
  const showAll = () => {
    setFilter(ALL);
    paused.release();
  };
  return { ...paused, filter, setFilter, showAll, open, toggleOpen, pinned, togglePin, at, setAt };
}

/** The entries at the time of the pause. */
function usePause({ entries }: InspectedRun) {
  const [held, hold] = useState<number>();
  const shown = useMemo(
    () => (held === undefined ? entries : entries.slice(0, held)),
    [entries, held],
  );
  const toggle = () => hold(held === undefined ? entries.length : undefined);
  return { entries: shown, held, toggle, release: () => hold(undefined) };
}

/** A set of row keys. */
function useKeys(): readonly [ReadonlySet<string>, (key: string) => void] {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((key: string) => {
    setKeys((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  }, []);
  return [keys, toggle];
}
