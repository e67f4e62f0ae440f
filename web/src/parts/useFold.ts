import { useEffect, useState } from "react";
import { keepOpen, useChoice } from "@/state/folds";

/** How long a block stays open after its end, so that its last text can be read. */
const CLOSES_AFTER = 500;

/**
 * `live`: streaming, open. `closing`: ended, still open for a moment. `closed`: old.
 * A block that had ended before its first render, as in a reopened chat, is old.
 */
type Phase = "live" | "closing" | "closed";

export interface BlockLife {
  /** Streaming: the end of the block counts, not that of the message. */
  active: boolean;
  /** Another block follows. */
  newer?: boolean;
  /** The user opened or closed something in it, and may be reading there. */
  touched?: boolean;
}

function nextPhase(phase: Phase, { active, newer }: BlockLife): Phase {
  if (newer) return "closed";
  if (active) return "live";
  return phase === "live" ? "closing" : phase;
}

/** Whether a block is open, and a function to change that: the user's click always wins. */
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
