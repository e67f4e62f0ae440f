import { useEffect, useState } from "react";
import { type Entry, OURS } from "@/inspector/entries";
import { Feed, type Phase, phaseOf } from "@/inspector/feed";
import { useStore } from "@/store";

export interface InspectedRun {
  entries: readonly Entry[];
  /** In which the entries have their frames. */
  format: string;
  phase: Phase;
  problem?: string;
  /** Reads all of it once more. */
  retry: () => void;
}

const begin = (runId: string, format: string) => ({
  format,
  feed: new Feed(runId, [...new Set([OURS, format])]),
});

/**
 * A run, read as long as this is shown; one component, one run. In another format it is read anew, and
 * shown as it was until that is as long.
 */
export function useRun(runId: string, wanted: string): InspectedRun {
  const [reading, setReading] = useState(() => begin(runId, wanted));
  if (reading.format !== wanted) setReading(begin(runId, wanted));
  const { feed, format } = reading;
  useEffect(() => feed.open(), [feed]);
  const { all } = useStore(feed.entries);
  const { phase, problem } = useStore(feed.reader.state);
  const [last, setLast] = useState({ entries: all, format });
  const isHere = all.length >= last.entries.length;
  if (isHere && (all !== last.entries || format !== last.format)) setLast({ entries: all, format });
  const told = isHere ? { entries: all, format } : last;
  const retry = () => setReading(begin(runId, wanted));
  return { ...told, phase: phaseOf(phase, all, told.entries), problem, retry };
}
