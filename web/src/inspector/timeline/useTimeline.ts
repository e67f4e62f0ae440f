import { useEffect, useMemo, useRef, useState } from "react";
import type { ModelCall } from "@/api";
import type { Entry } from "@/inspector/entries";
import { TimelineBuilder } from "@/inspector/timeline/building";
import { withModelCalls } from "@/inspector/timeline/modelCalls";
import type { Timeline } from "@/inspector/timeline/spans";

/** Milliseconds between two redraws of bars that grow. */
const TICK = 500;

/** The timeline of the entries so far. Further entries are added to what was built. */
export function useTimeline(
  entries: readonly Entry[],
  live: boolean,
  calls: readonly ModelCall[],
): Timeline {
  const built = useRef<{ builder: TimelineBuilder; last?: Entry }>(undefined);
  const now = useServerClock(entries, live);
  const timeline = useMemo(() => {
    let { builder, last } = built.current ?? { builder: new TimelineBuilder() };
    // Another format or a pause gives other entries: begin again.
    if (entries[builder.read - 1] !== last) builder = new TimelineBuilder();
    builder.add(entries.slice(builder.read));
    last = entries.at(-1);
    built.current = { builder, last };
    return builder.snapshot(now);
  }, [entries, now]);
  return useMemo(() => withModelCalls(timeline, calls), [timeline, calls]);
}

/** The time on the server, by its last event: clocks differ. */
function useServerClock(entries: readonly Entry[], live: boolean): number | undefined {
  const last = entries.at(-1)?.ts ?? undefined;
  const [elapsed, setElapsed] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each event sets the clock
  useEffect(() => {
    setElapsed(0);
    if (!live) return;
    const start = performance.now();
    const timer = setInterval(() => setElapsed(performance.now() - start), TICK);
    return () => clearInterval(timer);
  }, [live, last]);
  return live && last !== undefined ? last + elapsed : undefined;
}
