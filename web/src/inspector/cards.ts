import { useEffect } from "react";
import { MADE, point, RUN, read } from "@/state/links";

const blockOf = (target: EventTarget | null): Element | null =>
  target instanceof Element ? target.closest(`[${MADE}]`) : null;

/** Calls back with the ids of the parts when a block of the run's message is clicked. */
export function useCardClicks(runId: string, onIds: (ids: readonly string[]) => void): void {
  useEffect(() => {
    const onClick = ({ target }: MouseEvent) => {
      const block = blockOf(target);
      if (block?.getAttribute(RUN) === runId) onIds(read(block.getAttribute(MADE) ?? "[]"));
    };
    document.addEventListener("click", onClick);
    return () => document.removeEventListener("click", onClick);
  }, [runId, onIds]);
}

/** Finds the innermost block of the message that shows one of these parts; own ids come first. */
function cardOf(runId: string, ids: readonly string[]): Element | undefined {
  const blocks = [...document.querySelectorAll(`[${MADE}]`)].filter(
    (block) => block.getAttribute(RUN) === runId,
  );
  const made = blocks.map((block) => read(block.getAttribute(MADE) ?? "[]"));
  for (const id of ids) {
    const index = made.findLastIndex((each) => each.includes(id));
    if (index >= 0) return blocks[index];
  }
  return undefined;
}

/** Scrolls the chat to the block of these parts and highlights it; false if it is not shown. */
export function revealCard(runId: string, ids: readonly string[]): boolean {
  const card = cardOf(runId, ids);
  if (!card) return false;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  card.scrollIntoView({ block: "center", behavior: isStill ? "auto" : "smooth" });
  point({ runId, ids, from: "rows" });
  return true;
}
