import { ChevronRight, Pin, PinOff } from "lucide-react";
import type { KeyboardEvent, MouseEvent, ReactNode } from "react";
import { Detail, ORIGINS } from "@/inspector/Detail";
import { type Entry, endingOf, type Frame, framesOf, type Origin } from "@/inspector/entries";
import { inkOf } from "@/inspector/families";
import { type Item, isMany, joinedText } from "@/inspector/folding";
import { madeBy } from "@/inspector/made";
import { briefOf, briefOfFrame, briefOfLine, namesOf, oneLine } from "@/inspector/preview";
import { CELL, ROW } from "@/inspector/roles";
import type { Times } from "@/inspector/times";
import { NOWHERE, point, usePointed } from "@/state/links";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";

const words = strings.inspector;

export interface RowProps {
  runId: string;
  item: Item;
  format: string;
  origin: Origin;
  times: Times;
  open: boolean;
  pinned: boolean;
  /** In a replay: the current row, or a row after it. */
  moment?: "now" | "later";
  onToggle: (item: Item) => void;
  onPin: (item: Item) => void;
  // Of its list
  place?: number;
  tabIndex?: number;
  onFocus?: () => void;
  /** Scrolls the chat to what this row made. */
  onReveal?: () => void;
}

/** Three columns side by side, or stacked where there is no room. */
export const COLUMNS =
  "@2xl:grid @2xl:grid-cols-[10rem_0.7fr_1fr_1.4fr_1.75rem] @2xl:items-center @2xl:gap-x-2";

/** One row: time, raw line, event and frames. */
export function Row(props: RowProps) {
  const { runId, item, open, pinned, moment, place } = props;
  const [first] = item.group.entries;
  const entry = item.entry ?? first;
  const ids = madeBy(runId, entry);
  const pointed = usePointed(runId, ids, "parts");
  const name = words.row(entry.seq, entry.event.type);
  const acts = {
    ...ROW,
    "aria-level": item.level,
    "aria-expanded": open,
    "aria-label": name,
    "aria-rowindex": place,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.target === event.currentTarget && does(event.key, props)) event.preventDefault();
    },
    onFocus: () => {
      point({ runId, ids, from: "rows" });
      props.onFocus?.();
    },
    onPointerEnter: () => point({ runId, ids, from: "rows" }),
    onPointerLeave: () => point(NOWHERE),
  };
  // A click opens the row, unless it selects text or presses a control in it.
  const opens = {
    onClick: ({ target }: MouseEvent) => {
      const isOther = (target as Element).closest("button") || getSelection()?.toString();
      if (isOther) return;
      if (!open) props.onReveal?.();
      props.onToggle(item);
    },
  };
  return (
    <div
      {...acts}
      data-row={item.key}
      data-linked={pointed || undefined}
      tabIndex={props.tabIndex ?? 0}
      className={classes(
        "group/row border-b border-s-3 focus-visible:outline-offset-[-2px]",
        pointed ? "bg-ground-3" : "hover:bg-ground-2",
        moment === "later" && "bg-ground-2 grayscale",
        moment === "now" ? "border-s-accent" : "border-s-transparent",
      )}
    >
      <div
        role="presentation"
        {...opens}
        className={classes("relative cursor-pointer py-1 pe-1 ps-2", COLUMNS)}
      >
        <Time times={props.times} item={item} />
        <Lines item={item} origin={props.origin} />
        <EventCell item={item} open={open} />
        <Frames item={item} format={props.format} />
        <div {...CELL} className="@max-2xl:absolute @max-2xl:top-0 @max-2xl:end-1">
          <IconButton
            label={pinned ? words.unpin(name) : words.pin(name)}
            aria-pressed={pinned}
            tabIndex={props.tabIndex ?? 0}
            onClick={() => props.onPin(item)}
            className={classes(
              "size-7! max-md:size-9!",
              pinned
                ? "text-accent!"
                : "md:opacity-0 focus-visible:opacity-100 group-hover/row:opacity-100 group-focus/row:opacity-100",
            )}
          >
            {pinned ? <PinOff aria-hidden /> : <Pin aria-hidden />}
          </IconButton>
        </div>
      </div>
      {open && item.entry && (
        <div {...CELL}>
          <Detail entry={item.entry} origin={props.origin} format={props.format} />
        </div>
      )}
    </div>
  );
}

/** Handles a key; returns whether it was used. */
function does(key: string, { item, open, onToggle, onPin }: RowProps): boolean {
  if (key === "p" || key === "P") onPin(item);
  else if (key === "Enter" || key === " ") onToggle(item);
  else if (key === "ArrowRight" && !open) onToggle(item);
  else if (key === "ArrowLeft" && open) onToggle(item);
  else return false;
  return true;
}

function Time({ times, item }: { times: Times; item: Item }) {
  const { entry, group, level } = item;
  const { seq } = entry ?? group.entries[0];
  const last = entry ? seq : seq + group.entries.length - 1;
  return (
    <div
      {...CELL}
      className={classes(
        "flex items-baseline gap-2 @2xl:gap-1 text-label leading-5 whitespace-nowrap text-ink-2 tabular-nums",
        level === 2 && "ps-3",
      )}
    >
      <span className="min-w-7 @2xl:min-w-11">{words.places(seq, last)}</span>
      <span className="@2xl:min-w-12 @2xl:text-end">{times.since}</span>
      <span className="@2xl:flex-1 @2xl:text-end">{times.step}</span>
    </div>
  );
}

interface CellProps {
  /** The column's name, shown where the columns are stacked. */
  number: 1 | 2 | 3;
  children: ReactNode;
}

function Cell({ number, children }: CellProps) {
  return (
    <div
      {...CELL}
      className="flex min-w-0 items-baseline gap-1.5 font-mono text-mono leading-5 @max-2xl:pe-1 @2xl:leading-6"
    >
      <Step of={number} className="@2xl:hidden" />
      {children}
    </div>
  );
}

/** The number of the column. */
export const Step = ({ of, className }: { of: 1 | 2 | 3; className?: string }) => (
  <span
    aria-hidden
    className={classes(
      "inline-flex size-4 shrink-0 items-center justify-center self-center rounded-full bg-ground-3 font-sans text-[10px] leading-none font-medium text-ink-2",
      className,
    )}
  >
    {of}
  </span>
);

const Quiet = ({ children }: { children: ReactNode }) => (
  <span className="truncate font-sans text-ink-2 italic">{children}</span>
);

function Lines({ item, origin }: { item: Item; origin: Origin }) {
  const entries: Entry[] = item.entry ? [item.entry] : item.group.entries;
  const lines = entries.flatMap((entry) => entry.lines);
  const [first] = lines;
  return (
    <Cell number={1}>
      {first ? (
        <>
          <span className="truncate text-ink-2">{briefOfLine(first.line)}</span>
          {lines.length > 1 && <Count>{words.lines(lines.length)}</Count>}
        </>
      ) : (
        <Quiet>{ORIGINS[origin]}</Quiet>
      )}
    </Cell>
  );
}

function EventCell({ item, open }: { item: Item; open: boolean }) {
  const { event } = item.entry ?? item.group.entries[0];
  const many = item.entry === undefined;
  return (
    <Cell number={2}>
      <ChevronRight
        aria-hidden
        className={classes(
          "size-3 shrink-0 self-center text-ink-2 transition-transform",
          open && "rotate-90",
        )}
      />
      <span className={classes("shrink-0 font-medium", inkOf(event.type))}>{event.type}</span>
      {many && <Count>{words.times(item.group.entries.length)}</Count>}
      <span className="truncate">{many ? oneLine(joinedText(item.group)) : briefOf(event)}</span>
    </Cell>
  );
}

function Frames({ item, format }: { item: Item; format: string }) {
  const entries: Entry[] = item.entry ? [item.entry] : item.group.entries;
  const frames = entries.flatMap((entry) => framesOf(entry, format));
  const ending = entries.flatMap((entry) => endingOf(entry, format));
  const [first] = frames;
  return (
    <Cell number={3}>
      <span className="line-clamp-2 min-w-0 break-words @max-2xl:line-clamp-1">
        {first !== undefined && <Names of={frames} />}
        {first !== undefined && frames.length === 1 && !isMany(item.group) && (
          <span className="text-ink-2"> {briefOfFrame(first)}</span>
        )}
        {ending.length > 0 && (
          <>
            {" "}
            <Count>{words.endsHere}</Count> <Names of={ending} />
          </>
        )}
        {first === undefined && ending.length === 0 && <Quiet>{words.noFrames}</Quiet>}
      </span>
    </Cell>
  );
}

const Names = ({ of }: { of: readonly Frame[] }) => (
  <span className="font-medium">
    {namesOf(of)
      .map(({ name, count }) => (count > 1 ? `${name} ${words.times(count)}` : name))
      .join(" · ")}
  </span>
);

const Count = ({ children }: { children: ReactNode }) => (
  <span className="shrink-0 rounded-small bg-ground-3 px-1 text-label whitespace-nowrap text-ink-2">
    {children}
  </span>
);
