import { ticksOf } from "@/inspector/timeline/rows";
import type { Timeline } from "@/inspector/timeline/spans";
import { TREE_COLUMNS } from "@/inspector/timeline/TreeRow";
import { placeText } from "@/inspector/timeline/words";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.inspecting.timeline;

interface AxisProps {
  timeline: Timeline;
  /** Where the replay stands, in the units of the timeline. */
  at: number | undefined;
}

/** The heads of the columns, and the scale above the bars. Each row reads its own times. */
export function Axis({ timeline: { length, timed }, at }: AxisProps) {
  const percent = (value: number) => `${((100 * value) / length).toFixed(3)}%`;
  const head = "text-end @max-2xl:hidden";
  return (
    <div
      aria-hidden
      className={classes(
        "shrink-0 overflow-hidden border-b border-s-3 border-s-transparent bg-ground-2 px-2 py-1 text-label text-ink-2 [scrollbar-gutter:stable]",
        TREE_COLUMNS,
      )}
    >
      <span className="font-medium text-ink">{words.steps}</span>
      <span className="relative block h-4 tabular-nums @max-lg:order-last @max-lg:col-span-2">
        {ticksOf(length).map((tick, index) => (
          <span
            key={tick}
            style={{ insetInlineStart: percent(tick) }}
            className={classes(
              "absolute inset-y-0 border-s ps-1 leading-4 whitespace-nowrap",
              index % 2 === 1 && "@max-3xl:hidden", // else the texts touch
            )}
          >
            {placeText(tick, timed)}
          </span>
        ))}
        {at !== undefined && (
          <span
            data-playhead
            style={{ insetInlineStart: percent(Math.min(at, length)) }}
            className="absolute inset-y-0 w-0.5 bg-accent"
          />
        )}
      </span>
      <span className="text-end">{words.duration}</span>
      <span className={head}>{words.tokens}</span>
      <span className={head}>{words.cost}</span>
    </div>
  );
}
