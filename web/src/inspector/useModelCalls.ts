import { useEffect, useState } from "react";
import type { ModelCallList } from "@/api";
import type { RunSource } from "@/inspector/source";

export type LoadedCalls = ModelCallList | "failed";

/** Milliseconds between two requests while the run goes on. */
const INTERVAL = 3_000;

/** The recorded model calls of a run: loaded while they are shown, again while it goes on and at its end. */
export function useModelCalls(
  source: RunSource,
  isShown: boolean,
  over: boolean,
): LoadedCalls | undefined {
  const [loaded, setLoaded] = useState<LoadedCalls>();
  useEffect(() => {
    if (!isShown) return;
    let wanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      const found = await source.modelCalls?.().catch(() => "failed" as const);
      if (!wanted) return;
      setLoaded(found);
      const goesOn = typeof found === "object" && found.recording && !over;
      if (goesOn) timer = setTimeout(load, INTERVAL);
    };
    void load();
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [source, isShown, over]);
  return loaded;
}
