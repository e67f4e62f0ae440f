import { useEffect, useState } from "react";
import { keepOpen, useChoice } from "@/state/folds";

/** How long a block stays open after its end, so that its last words can be seen. */
const CLOSES_AFTER = 500;

/**
 * `live`: being written, open. `closing`: over, open for another moment. `closed`: old.
 * A block that was over when it came first, as in a chat that is opened again, is old.
 */
type Phase = "live" | "closing" | "closed";

export interface BlockLife {
  /** It is being written: its own end counts, not the message's. */
  active: boolean;
  /** Something came after it. */
  newer?: boolean;
  /** Somebody opened or closed something in it, and may be reading there. */
  touched?: boolean;
}

function nextPhase(phase: Phase, { active, newer }: BlockLife): Phase {
  if (newer) return "closed";
  if (active) return "live";
  return phase === "live" ? "closing" : phase;
}

/** Whether a block is open, and how to change that: a click wins over everything else for ever. */
export function useFold(id: string, life: BlockLife): readonly [boolean, (open: boolean) => void] {
  const [phase, setPhase] = useState(() => nextPhase("closed", life));
  const [choice, choose] = useChoice(id);
  const [keeps] = keepOpen.use();
  const next = nextPhase(phase, life);
  if (next !== phase) setPhase(next);

  useEffect(() => {
    if (next !== "closing") return;
    const timer = setTimeout(() => setPhase("closed"), CLOSES_AFTER);
    return () => clearTimeout(timer);
  }, [next]);

  return [choice ?? (keeps || life.touched || next !== "closed"), choose];
}
