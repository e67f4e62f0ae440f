import { ChevronDown, ChevronLeft, ChevronRight, Pause, Play } from "lucide-react";
import type { Entry } from "@/inspector/entries";
import { type Playing, SPEEDS, type Speed } from "@/inspector/play/usePlay";
import { Present } from "@/inspector/Replay";
import { span } from "@/inspector/times";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Menu, MenuChoice } from "@/ui/Menu";

const words = strings.inspector;
const texts = strings.inspecting.play;
const SMALL = "size-8! max-md:size-11!";

interface PlayerProps {
  entries: readonly Entry[];
  /** The entry up to which the chat is shown; undefined: all. */
  at: number | undefined;
  onMove: (at: number | undefined) => void;
  playing: Playing;
  /** The button that ends the replay is here; else it is at the preview. */
  hasPresent: boolean;
}

/** Plays the chat as it was; a slider over the run's entries, whose end is the present. */
export function Player({ entries, at, onMove, playing, hasPresent }: PlayerProps) {
  const last = entries.length;
  const value = at ?? last;
  const move = (to: number) => onMove(to >= last ? undefined : Math.max(1, to));
  const type = entries[value - 1]?.event.type ?? "";
  return (
    <section
      aria-label={texts.name}
      title={texts.keys}
      className="flex shrink-0 flex-wrap items-center gap-x-1 border-t bg-ground-2 px-2 py-1.5"
    >
      <Button
        kind={playing.isPlaying ? "outline" : "solid"}
        disabled={last < 2}
        onClick={playing.toggle}
        className="min-h-8! px-2.5! text-mono! max-md:min-h-11! [&_svg]:size-3.5"
      >
        {playing.isPlaying ? <Pause aria-hidden /> : <Play aria-hidden />}
        {playing.isPlaying ? texts.pause : texts.play}
      </Button>
      <SpeedMenu playing={playing} />
      <IconButton
        label={words.back}
        disabled={value <= 1}
        onClick={() => move(value - 1)}
        className={SMALL}
      >
        <ChevronLeft aria-hidden className="rtl:rotate-180" />
      </IconButton>
      <input
        type="range"
        aria-label={words.replay}
        aria-valuetext={words.replayValue(value, last, type)}
        min={1}
        max={Math.max(last, 1)}
        value={value}
        onChange={(event) => move(event.target.valueAsNumber)}
        className="h-6 min-w-24 flex-1 accent-accent max-md:h-11"
      />
      <IconButton
        label={words.forth}
        disabled={at === undefined}
        onClick={() => move(value + 1)}
        className={SMALL}
      >
        <ChevronRight aria-hidden className="rtl:rotate-180" />
      </IconButton>
      <span
        className={classes(
          "text-end text-mono text-ink-2 tabular-nums @2xl:min-w-20",
          playing.gap === undefined && "@max-md:sr-only",
        )}
      >
        {playing.gap === undefined
          ? words.replayAt(value, last)
          : texts.shortened(span(playing.gap))}
      </span>
      {hasPresent && at !== undefined && <Present onLeave={() => onMove(undefined)} />}
    </section>
  );
}

function SpeedMenu({ playing: { speed, setSpeed } }: { playing: Playing }) {
  const trigger = (
    <Button
      kind="quiet"
      aria-label={texts.speedOf(speed)}
      className="min-h-8! px-2! text-mono! tabular-nums max-md:min-h-11!"
    >
      {texts.speeds(speed)}
      <ChevronDown aria-hidden className="size-3.5" />
    </Button>
  );
  return (
    <Menu trigger={trigger} align="start" side="top">
      <MenuChoice
        label={texts.speed}
        value={String(speed)}
        onChoose={(chosen) => setSpeed(Number(chosen) as Speed)}
        options={SPEEDS.map((each) => ({ value: String(each), name: texts.speeds(each) }))}
      />
    </Menu>
  );
}
