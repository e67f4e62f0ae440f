import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from "react";
import { TREE } from "@/inspector/roles";
import { type SpanRow, TREE_KEYS, visibleRows } from "@/inspector/timeline/rows";
import type { Span, Timeline } from "@/inspector/timeline/spans";
import { TreeRow } from "@/inspector/timeline/TreeRow";
import { strings } from "@/strings";

const words = strings.inspecting.timeline;
const ROW_HEIGHT = 36;

interface TreeProps {
  timeline: Timeline;
  closed: ReadonlySet<string>;
  onToggle: (key: string) => void;
  selected: string | undefined;
  onSelect: (span: Span) => void;
  onPoint: (span: Span | undefined) => void;
  isPointed: (span: Span) => boolean;
  /** The axis above the rows. */
  children: ReactNode;
}

/**
 * The steps as a virtualized tree. The selected row, or the first, is the tab stop; the arrow keys move
 * the selection. Not a live region.
 */
export function Tree(props: TreeProps) {
  const { timeline, closed, onToggle, selected, onSelect } = props;
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => visibleRows(timeline.root, closed), [timeline, closed]);
  const active = Math.max(
    0,
    rows.findIndex(({ span }) => span.key === selected),
  );
  const focused = useRef(false);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: useKeys(rows),
    overscan: 10,
    useFlushSync: false,
    rangeExtractor: (range: Range) => withActive(defaultRangeExtractor(range), active),
  });
  // A selection from elsewhere, such as a click in the chat, is scrolled to.
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows that are added do not scroll
  useEffect(() => {
    if (selected !== undefined) virtual.scrollToIndex(active, { align: "auto" });
  }, [selected]);
  // Focus the row once it is rendered: it may have been out of view.
  useEffect(() => {
    if (!focused.current) return;
    const row = box.current?.querySelector<HTMLElement>("[aria-selected=true]");
    if (!row) return;
    focused.current = false;
    row.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[active];
    const move = TREE_KEYS[event.key];
    if (!row || !move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const to = move(active, rows, !closed.has(row.span.key));
    if (typeof to !== "number") return onToggle(row.span.key);
    const next = rows[Math.min(Math.max(to, 0), rows.length - 1)];
    if (!next) return;
    focused.current = true;
    onSelect(next.span);
  };
  return (
    <div className="flex min-h-24 flex-1 flex-col">
      {props.children}
      <div
        ref={box}
        {...TREE}
        {...{ "aria-label": words.steps, onKeyDown }}
        className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto overscroll-contain [scrollbar-gutter:stable]"
      >
        <div
          role="presentation"
          className="relative w-full"
          style={{ height: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (!row) return null;
            const { span } = row;
            return (
              <div
                key={span.key}
                role="presentation"
                ref={virtual.measureElement}
                data-index={index}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${start}px)` }}
              >
                <TreeRow
                  row={row}
                  timeline={timeline}
                  isOpen={!closed.has(span.key)}
                  isSelected={span.key === selected}
                  isPointed={props.isPointed(span)}
                  tabIndex={index === active ? 0 : -1}
                  onSelect={() => onSelect(span)}
                  onToggle={() => onToggle(span.key)}
                  onPoint={(isOver) => props.onPoint(isOver ? span : undefined)}
                />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** Stable while the rows are the same: a new function makes the virtualizer measure all rows again. */
function useKeys(rows: readonly SpanRow[]): (index: number) => string {
  const joined = rows.map(({ span }) => span.key).join("\n");
  return useMemo(() => {
    const keys = joined.split("\n");
    return (index: number) => keys[index] ?? String(index);
  }, [joined]);
}

/** The row with the tab stop is always rendered. */
function withActive(indexes: number[], active: number): number[] {
  return indexes.includes(active) ? indexes : [...indexes, active].sort((a, b) => a - b);
}
