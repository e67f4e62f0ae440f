import { ChevronLeft, ChevronRight, History } from "lucide-react";
import { useEffect, useRef } from "react";
import type { Entry } from "@/inspector/entries";
import { Parts } from "@/parts/Parts";
import { replays } from "@/state/replay";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { ROOMY, useMedia } from "@/ui/useMedia";

const words = strings.inspector;

/** A preview of the replayed message, where the panel covers the chat. */
export function Preview({ at }: { at: number | undefined }) {
  const isRoomy = useMedia(ROOMY);
  const { shown } = useStore(replays);
  const box = useRef<HTMLElement>(null);
  const message = shown?.message;
  useEffect(() => {
    if (message) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [message]);
  if (isRoomy || at === undefined || !shown) return null;
  const title = words.replayed(shown.at);
  return (
    <>
      <div className="flex shrink-0 items-center gap-2 border-t-2 border-accent px-3 py-1 text-mono">
        <History aria-hidden className="size-4 shrink-0 text-accent" />
        <p className="min-w-0 flex-1 leading-tight">{title}</p>
        <Present onLeave={shown.leave} />
      </div>
      <section
        ref={box}
        aria-label={title}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
        tabIndex={0}
        className="max-h-[35%] shrink-0 overflow-y-auto border-t px-3 py-3 focus-visible:outline-offset-[-2px]"
      >
        <Parts message={shown.message} live={shown.live} />
      </section>
    </>
  );
}

const Present = ({ onLeave }: { onLeave: () => void }) => (
  <Button
    kind="solid"
    className="min-h-8! shrink-0 px-2! text-mono! max-md:min-h-11!"
    onClick={onLeave}
  >
    {words.present}
  </Button>
);

interface SliderProps {
  entries: readonly Entry[];
  /** The entry up to which the chat is shown; undefined: all. */
  at: number | undefined;
  onMove: (at: number | undefined) => void;
}

/** A slider over the run's entries; its end is the present. */
export function Slider({ entries, at, onMove }: SliderProps) {
  const isRoomy = useMedia(ROOMY); // otherwise the preview has the button
  const last = entries.length;
  const value = at ?? last;
  const move = (to: number) => onMove(to >= last ? undefined : Math.max(1, to));
  const type = entries[value - 1]?.event.type ?? "";
  return (
    <div className="flex flex-wrap items-center gap-x-2 @max-2xl:gap-x-1 border-t bg-ground-2 px-3 py-1.5">
      <span className="flex items-center gap-1.5 text-mono font-medium" title={words.replayLine}>
        <History aria-hidden className="size-3.5 text-ink-2" />
        <span className="@max-2xl:sr-only">{words.replay}</span>
      </span>
      <IconButton
        label={words.back}
        disabled={value <= 1}
        onClick={() => move(value - 1)}
        className="size-8! max-md:size-11!"
      >
        <ChevronLeft aria-hidden />
      </IconButton>
      <input
        type="range"
        aria-label={words.replay}
        aria-valuetext={words.replayValue(value, last, type)}
        min={1}
        max={Math.max(last, 1)}
        value={value}
        onChange={(event) => move(event.target.valueAsNumber)}
        className="h-6 min-w-24 flex-1 accent-accent"
      />
      <IconButton
        label={words.forth}
        disabled={at === undefined}
        onClick={() => move(value + 1)}
        className="size-8! max-md:size-11!"
      >
        <ChevronRight aria-hidden />
      </IconButton>
      <span className="text-right text-mono @2xl:min-w-20 text-ink-2 tabular-nums">
        {words.replayAt(value, last)}
      </span>
      {isRoomy && at !== undefined && <Present onLeave={() => onMove(undefined)} />}
    </div>
  );
}
