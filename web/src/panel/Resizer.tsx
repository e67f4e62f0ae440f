import { type KeyboardEvent, type PointerEvent, useSyncExternalStore } from "react";
import { direction } from "@/language";
import { PANEL } from "@/panel/toggle";
import { panelWidth, USUAL_WIDTH } from "@/state/panel";
import { strings } from "@/strings";

const NARROWEST = 320;
/** The width reserved for the chat list and the chat. */
const OTHERS = 256 + 380;
const STEP = 24;

const widest = () => Math.max(NARROWEST, window.innerWidth - OTHERS);
const within = (width: number) => Math.round(Math.min(Math.max(width, NARROWEST), widest()));

function onResize(listener: () => void): () => void {
  window.addEventListener("resize", listener);
  return () => window.removeEventListener("resize", listener);
}

/** The preferred width, limited by the available room. */
export function usePanelWidth(): number {
  const [liked] = panelWidth.use();
  const most = useSyncExternalStore(onResize, widest);
  return Math.min(Math.max(liked, NARROWEST), most);
}

const isLeftToRight = direction === "ltr";
const wider = (width: number) => width + STEP;
const narrower = (width: number) => width - STEP;

/** The width after each key; the panel is at the end of the line, so it grows towards its start. */
const KEYS: Record<string, (width: number) => number> = {
  ArrowLeft: isLeftToRight ? wider : narrower,
  ArrowRight: isLeftToRight ? narrower : wider,
  Home: () => NARROWEST,
  End: widest,
};

/** The draggable edge of the panel; a double click resets it. */
export function Resizer({ width }: { width: number }) {
  const put = (wanted: number) => panelWidth.set(within(wanted));
  const onKeyDown = (event: KeyboardEvent) => {
    const change = KEYS[event.key];
    if (!change) return;
    event.preventDefault();
    put(change(width));
  };
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    put(isLeftToRight ? window.innerWidth - event.clientX : event.clientX);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an `hr` cannot be dragged
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={strings.panel.resize}
      aria-controls={PANEL}
      aria-valuenow={width}
      aria-valuemin={NARROWEST}
      aria-valuemax={widest()}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onDoubleClick={() => put(USUAL_WIDTH)}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      className="-me-1 z-10 w-2 shrink-0 cursor-col-resize touch-none border-s hover:border-s-accent focus-visible:border-s-accent focus-visible:outline-offset-[-2px]"
    />
  );
}
