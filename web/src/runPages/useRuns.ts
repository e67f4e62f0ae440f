import { useCallback, useEffect, useRef, useState } from "react";
import { getRuns, type RunOrder, type RunOutcome, type RunRow } from "@/api";
import { failureMessage } from "@/failure";

export interface RunChoice {
  order: RunOrder;
  outcome: RunOutcome | "all";
  /** Empty: all. */
  agent: string;
}

interface Loaded {
  rows: readonly RunRow[];
  before?: string;
  phase: "loading" | "ready" | "failed";
  problem?: string;
}

/** The runs of a choice, page by page. A new choice loads again; the rows before stay until then. */
export function useRuns({ order, outcome, agent }: RunChoice) {
  const [loaded, setLoaded] = useState<Loaded>({ rows: [], phase: "loading" });
  const wanted = useRef(0);
  const load = useCallback(
    async (before?: string) => {
      const number = ++wanted.current;
      setLoaded((now) => ({ ...now, phase: "loading" }));
      const filter = {
        ...(outcome !== "all" && { outcome }),
        ...(agent && { agent }),
        ...(before && { before }),
      };
      try {
        const page = await getRuns({ order, ...filter });
        if (number !== wanted.current) return;
        setLoaded((now) => ({
          rows: before ? [...now.rows, ...page.runs] : page.runs,
          before: page.before ?? undefined,
          phase: "ready",
        }));
      } catch (problem) {
        if (number !== wanted.current) return;
        const text = failureMessage(problem);
        setLoaded((now) => ({ ...now, phase: "failed", problem: text }));
      }
    },
    [order, outcome, agent],
  );
  useEffect(() => {
    void load();
  }, [load]);
  return { ...loaded, retry: () => load(), more: () => load(loaded.before) };
}
