import { type RefObject, useEffect } from "react";

/** What uses the space bar itself. */
const USES_SPACE =
  "button, input:not([type=range]), textarea, select, [role=tab], [role=row], [role=menu]";
const USES_ARROWS = "input, textarea, select, [role=tab], [role=row], [role=tree], [role=menu]";

interface Keys {
  /** The inspector: keys pressed in it are for the player, unless a control uses them. */
  box: RefObject<HTMLElement | null>;
  /** A replay is shown: then also keys that nothing has the focus for. */
  active: boolean;
  onToggle: () => void;
  onStep: (by: -1 | 1) => void;
}

const STEPS: Readonly<Record<string, -1 | 1>> = { ArrowLeft: -1, ArrowRight: 1 };

/** Space plays and pauses, the arrow keys step. */
export function usePlayKeys({ box, active, onToggle, onStep }: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target } = event;
      const isOther = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey;
      if (isOther || !(target instanceof Element)) return;
      const isHere = box.current?.contains(target) || (active && target === document.body);
      if (!isHere) return;
      const by = STEPS[event.key];
      if (event.key === " " && !target.closest(USES_SPACE)) onToggle();
      else if (by && active && !target.closest(USES_ARROWS)) onStep(by);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [box, active, onToggle, onStep]);
}
