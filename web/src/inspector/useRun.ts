import { useEffect, useState } from "react";
import { type Entry, OURS } from "@/inspector/entries";
import { type Phase, phaseOf } from "@/inspector/feed";
import type { RunSource } from "@/inspector/source";
import { useStore } from "@/store";

export interface InspectedRun {
  entries: readonly Entry[];
  /** The format of the frames. */
  format: string;
  phase: Phase;
  problem?: string;
  /** Reads the run again from the start. */
  retry: () => void;
}

const begin = (source: RunSource, format: string) => ({
  format,
  feed: source.read([...new Set([OURS, format])]),
});

/**
 * Reads a run while the component is mounted; one component, one run. A change of format reads it again;
 * the previous entries are shown until as many have arrived.
 */
export function useRun(source: RunSource, wanted: string): InspectedRun {
  const [reading, setReading] = useState(() => begin(source, wanted));
  if (reading.format !== wanted) setReading(begin(source, wanted));
  const { feed, format } = reading;
  useEffect(() => feed.open(), [feed]);
  const { all } = useStore(feed.entries);
  const { phase, problem } = useStore(feed.state);
  const [last, setLast] = useState({ entries: all, format });
  const isHere = all.length >= last.entries.length;
  if (isHere && (all !== last.entries || format !== last.format)) setLast({ entries: all, format });
  const shown = isHere ? { entries: all, format } : last;
  const retry = () => setReading(begin(source, wanted));
  return { ...shown, phase: phaseOf(phase, all, shown.entries), problem, retry };
}
