import { ChevronRight } from "lucide-react";
import type { MouseEvent } from "react";
import { TREEITEM } from "@/inspector/roles";
import { BARS, LOOKS } from "@/inspector/timeline/looks";
import type { SpanRow } from "@/inspector/timeline/rows";
import type { Span, Timeline } from "@/inspector/timeline/spans";
import { costText, lengthText, nameOf, sentenceOf, tokensOf } from "@/inspector/timeline/words";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.inspecting.timeline;

/** Deeper rows are not indented further. */
const DEEPEST = 10;

/** Name, bar, duration, tokens and cost; below each other where there is no room. */
export const TREE_COLUMNS =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 @lg:grid-cols-[minmax(0,13rem)_minmax(0,1fr)_4.5rem] @2xl:grid-cols-[minmax(0,15rem)_minmax(0,1fr)_4.5rem_3.5rem_4rem]";

interface TreeRowProps {
  row: SpanRow;
  timeline: Timeline;
  isOpen: boolean;
  isSelected: boolean;
  /** A part of its answer is hovered in the chat. */
  isPointed: boolean;
  tabIndex: number;
  onSelect: () => void;
  onToggle: () => void;
  onPoint: (isOver: boolean) => void;
}

/** One step of the timeline. */
export function TreeRow(props: TreeRowProps) {
  const { row, timeline, isOpen, isSelected, isPointed, onSelect, onToggle, onPoint } = props;
  const { span, level, place, of } = row;
  const hasChildren = span.children.length > 0;
  const acts = {
    ...TREEITEM,
    "aria-level": level,
    "aria-posinset": place,
    "aria-setsize": of,
    "aria-selected": isSelected,
    "aria-expanded": hasChildren ? isOpen : undefined,
    onClick: ({ target }: MouseEvent) => {
      onSelect();
      if ((target as Element).closest("[data-fold]")) onToggle();
    },
    onPointerEnter: () => onPoint(true),
    onPointerLeave: () => onPoint(false),
  };
  return (
    <div
      {...acts}
      data-span={span.key}
      tabIndex={props.tabIndex}
      className={classes(
        "relative min-h-9 cursor-pointer border-s-3 px-2 py-1 focus-visible:outline-offset-[-2px] max-md:min-h-11",
        TREE_COLUMNS,
        isSelected ? "border-s-accent bg-ground-3" : "border-s-transparent hover:bg-ground-2",
        isPointed && !isSelected && "bg-ground-3",
      )}
    >
      <span className="sr-only">{sentenceOf(span, timeline.timed)}</span>
      <Name span={span} level={level} isOpen={isOpen} />
      <Bar span={span} length={timeline.length} />
      <span aria-hidden className="text-end text-mono text-ink-2 tabular-nums">
        {lengthText(span.to - span.from, timeline.timed)}
      </span>
      <Spent span={span} />
    </div>
  );
}

function Name({ span, level, isOpen }: { span: Span; level: number; isOpen: boolean }) {
  const { icon: Icon, ink } = LOOKS[span.kind];
  const state = words.states[span.status];
  const isBad = span.status === "error" || span.status === "denied";
  return (
    <span
      aria-hidden
      className="flex min-w-0 items-center gap-1.5"
      style={{ paddingInlineStart: `${(Math.min(level, DEEPEST) - 1) * 0.75}rem` }}
    >
      <span
        data-fold={span.children.length > 0 || undefined}
        className="flex size-5 shrink-0 items-center justify-center text-ink-2"
      >
        {span.children.length > 0 && (
          <ChevronRight
            aria-hidden
            className={classes(
              "size-3.5 transition-transform",
              isOpen ? "rotate-90" : "rtl:rotate-180",
            )}
          />
        )}
      </span>
      <Icon aria-hidden className={classes("size-3.5 shrink-0", ink)} />
      <span className="min-w-0 truncate text-block" title={nameOf(span)}>
        {nameOf(span)}
      </span>
      {state && (
        <span className={classes("shrink-0 text-label", isBad ? "text-bad" : "text-ink-2")}>
          {state}
        </span>
      )}
    </span>
  );
}

/** The place of a step in time. */
function Bar({ span, length }: { span: Span; length: number }) {
  const percent = (value: number) => `${((100 * value) / length).toFixed(3)}%`;
  return (
    <span
      aria-hidden
      className="relative block h-2.5 @max-lg:order-last @max-lg:col-span-2 @max-lg:mb-1 @max-lg:h-1.5"
    >
      <span
        style={{ insetInlineStart: percent(span.from), width: percent(span.to - span.from) }}
        className={classes(
          "absolute inset-y-0 min-w-0.75 rounded-full",
          LOOKS[span.kind].bar,
          BARS[span.status],
        )}
      />
    </span>
  );
}

function Spent({ span: { total } }: { span: Span }) {
  const tokens = tokensOf(total);
  const cell = "text-end text-mono text-ink-2 tabular-nums @max-2xl:hidden";
  return (
    <>
      <span aria-hidden className={cell}>
        {tokens > 0 && words.shortTokens(tokens)}
      </span>
      <span aria-hidden className={cell}>
        {costText(total?.cost)}
      </span>
    </>
  );
}
