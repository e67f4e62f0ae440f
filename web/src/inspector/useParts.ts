import { useEffect } from "react";
import { links, MADE, NOWHERE, point, RUN, read } from "@/state/links";

/** Tracks which block of the run's message is hovered or focused. */
export function useParts(runId: string): void {
  useEffect(() => {
    const look = ({ target }: Event) => {
      const block = target instanceof Element ? target.closest(`[${MADE}]`) : null;
      if (block?.getAttribute(RUN) === runId)
        point({ runId, ids: read(block.getAttribute(MADE) ?? "[]"), from: "parts" });
      else if (links.get().from === "parts") point(NOWHERE);
    };
    document.addEventListener("pointerover", look);
    document.addEventListener("focusin", look);
    return () => {
      document.removeEventListener("pointerover", look);
      document.removeEventListener("focusin", look);
      point(NOWHERE);
    };
  }, [runId]);
}
