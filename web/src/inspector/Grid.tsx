import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { revealCard, useCardClicks } from "@/inspector/cards";
import type { Item } from "@/inspector/folding";
import { Heads } from "@/inspector/Heads";
import { madeBy } from "@/inspector/made";
import { Row, type RowProps } from "@/inspector/Row";
import { ROWS, TREEGRID } from "@/inspector/roles";
import { type Box, useEnd } from "@/inspector/useEnd";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

const words = strings.inspector;

/** Row heights in pixels: with columns side by side, and with columns stacked. */
const LOW = 38;
const HIGH = 89;
/** The minimum width for three columns: `@2xl` of the styles. */
const THREE_COLUMNS = 672;
const PAGE = 10;

export type RowData = Omit<RowProps, "item" | "place" | "tabIndex" | "onFocus" | "onReveal">;

interface GridProps {
  runId: string;
  rows: readonly Item[];
  /** The state shared by all rows. */
  rowProps: (item: Item) => RowData;
  /** Live: stays scrolled to the end while rows are added. */
  live: boolean;
  /** The entry at which the replay stands. */
  at?: number;
  /** The entry to go to. */
  target?: { seq: number };
  /** The name of the frames' format. */
  format: string;
}

/**
 * The rows, virtualized. One of them is a tab stop, the others are reached with the arrow keys. Not a
 * live region: screen readers would read every token.
 */
export function Grid({ runId, rows, rowProps, live, at, target, format }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState("");
  const wanted = useRef<string>(undefined);
  const activeIndex = useMemo(
    () => Math.max(0, active ? rows.findIndex(({ key }) => key === active) : 0),
    [rows, active],
  );
  const estimateSize = useEstimate(box);
  const getItemKey = useKeys(rows);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize,
    getItemKey,
    overscan: 8,
    useFlushSync: false,
    rangeExtractor: (range: Range) => withActive(defaultRangeExtractor(range), activeIndex),
  });
  const { isAtEnd, toEnd } = useEnd(box, rows.length, live, () =>
    virtual.scrollToIndex(rows.length - 1, { align: "end" }),
  );
  const reveal = useCallback(
    (index: number) => index >= 0 && virtual.scrollToIndex(index, { align: "auto" }),
    [virtual],
  );
  useReplayed(rows, at, reveal);
  useClicked(runId, rows, reveal);

  const go = (index: number) => {
    const to = rows[Math.min(Math.max(index, 0), rows.length - 1)];
    if (!to) return;
    wanted.current = to.key;
    setActive(to.key);
    reveal(rows.indexOf(to));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: goes there once
  useEffect(() => {
    if (target) go(rows.findLastIndex((item) => holds(item, target.seq)));
  }, [target]);
  // Focus the row once it is rendered: it may have been scrolled out of view.
  useEffect(() => {
    if (wanted.current === undefined) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"]`);
    if (!row) return;
    wanted.current = undefined;
    row.focus({ preventScroll: true });
  });
  const moves = {
    ...TREEGRID,
    "aria-label": words.views.events,
    "aria-rowcount": rows.length + 1,
    "aria-live": "off" as const,
    onKeyDown: (event: KeyboardEvent) => {
      const move = MOVES[event.key];
      if (!move || !(event.target as Element).matches("[role=row]")) return;
      event.preventDefault();
      go(move(activeIndex, rows.length));
    },
  };
  return (
    <div {...moves} className="relative flex min-h-0 flex-1 flex-col">
      <Heads format={format} />
      <div
        ref={box}
        {...ROWS}
        className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain [scrollbar-gutter:stable]"
      >
        <div
          role="presentation"
          className="relative w-full"
          style={{ height: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map(({ index, start }) => {
            const item = rows[index];
            if (!item) return null;
            return (
              <div
                key={item.key}
                role="presentation"
                ref={virtual.measureElement}
                data-index={index}
                className="absolute top-0 start-0 w-full"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row
                  {...rowProps(item)}
                  item={item}
                  place={index + 2}
                  tabIndex={index === activeIndex ? 0 : -1}
                  onFocus={() => setActive(item.key)}
                  onReveal={() => revealCard(runId, madeBy(runId, item.group.entries[0]))}
                />
              </div>
            );
          })}
        </div>
      </div>
      {live && !isAtEnd && (
        <IconButton
          label={words.toEnd}
          onClick={toEnd}
          className="absolute end-3 bottom-2 rounded-full! border bg-ground! shadow-md"
        >
          <ArrowDown aria-hidden />
        </IconButton>
      )}
    </div>
  );
}

const MOVES: Record<string, (index: number, count: number) => number> = {
  ArrowDown: (index) => index + 1,
  ArrowUp: (index) => index - 1,
  PageDown: (index) => index + PAGE,
  PageUp: (index) => index - PAGE,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** The row with the tab stop is always rendered. */
function withActive(indexes: number[], active: number): number[] {
  return indexes.includes(active) ? indexes : [...indexes, active].sort((a, b) => a - b);
}

/** Stable while the rows are the same: a new function makes the virtualizer measure all rows again. */
function useKeys(rows: readonly Item[]): (index: number) => string | number {
  const keys = rows.map(({ key }) => key);
  const [known, setKnown] = useState(keys);
  const isKnown = keys.length === known.length && keys.every((key, index) => key === known[index]);
  if (!isKnown) setKnown(keys);
  const current = isKnown ? known : keys;
  return useCallback((index: number) => current[index] ?? index, [current]);
}

/** The estimated height of a row. Wrong estimates move all rows below. */
function useEstimate(box: Box): () => number {
  const [guess, setGuess] = useState(LOW);
  useLayoutEffect(() => {
    setGuess((box.current?.clientWidth ?? 0) >= THREE_COLUMNS ? LOW : HIGH);
  }, [box]);
  return useCallback(() => guess, [guess]);
}

/** Scrolls to the row at which the replay stands. */
function useReplayed(
  rows: readonly Item[],
  at: number | undefined,
  reveal: (index: number) => void,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a move of the slider moves the list
  useEffect(() => {
    if (at !== undefined) reveal(rows.findLastIndex((item) => holds(item, at)));
  }, [at]);
}

/** Whether a row contains this entry. */
export const holds = ({ entry, group: { entries } }: Item, seq: number): boolean =>
  entry ? entry.seq === seq : entries[0].seq <= seq && seq < entries[0].seq + entries.length;

/** A click on a block of the message scrolls to the first row that made it. */
function useClicked(runId: string, rows: readonly Item[], reveal: (index: number) => void): void {
  const onIds = useCallback(
    (ids: readonly string[]) =>
      reveal(
        rows.findIndex(({ group }) =>
          madeBy(runId, group.entries[0]).some((id) => ids.includes(id)),
        ),
      ),
    [runId, rows, reveal],
  );
  useCardClicks(runId, onIds);
}
