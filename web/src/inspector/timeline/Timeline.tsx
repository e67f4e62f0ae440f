import { useCallback, useMemo, useState } from "react";
import { revealCard, useCardClicks } from "@/inspector/cards";
import type { Entry } from "@/inspector/entries";
import { madeBy } from "@/inspector/made";
import { Axis } from "@/inspector/timeline/Axis";
import { SpanDetail } from "@/inspector/timeline/SpanDetail";
import { Summary } from "@/inspector/timeline/Summary";
import type { Span, Timeline as Spans } from "@/inspector/timeline/spans";
import { Tree } from "@/inspector/timeline/Tree";
import { links, NOWHERE, point } from "@/state/links";
import { useStore } from "@/store";

interface TimelineProps {
  runId: string;
  entries: readonly Entry[];
  timeline: Spans;
  /** The entry at which the replay stands. */
  at: number | undefined;
  selected: string | undefined;
  onSelect: (key: string | undefined) => void;
  onEvents: (seq: number) => void;
  onPlay: (seq: number) => void;
  onCall: (n: number) => void;
}

/** The steps of a run in time: a tree beside its bars, and the details of the selected step. */
export function Timeline(props: TimelineProps) {
  const { runId, entries, timeline, at, selected, onSelect } = props;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const pointed = useStore(links);
  const span = useMemo(
    () => timeline.spans.find(({ key }) => key === selected),
    [timeline, selected],
  );
  const idsOf = useCallback(
    ({ first }: Span): readonly string[] => {
      const entry = entries[first - 1];
      return entry ? madeBy(runId, entry) : [];
    },
    [entries, runId],
  );
  useCardClicks(
    runId,
    useCallback(
      (ids) => {
        const made = timeline.spans.find((each) => each.parent && shares(idsOf(each), ids));
        if (made) onSelect(made.key);
      },
      [timeline, idsOf, onSelect],
    ),
  );
  const isPointed = (each: Span) =>
    pointed.from === "parts" && pointed.runId === runId && shares(idsOf(each), pointed.ids);
  const toggle = (key: string) => {
    const after = new Set(closed);
    if (!after.delete(key)) after.add(key);
    setClosed(after);
  };
  /** Selects a step, and opens what it is in. */
  const reveal = (each: Span) => {
    const after = new Set(closed);
    for (let above = each.parent; above; above = above.parent) after.delete(above.key);
    setClosed(after);
    onSelect(each.key);
  };
  const foldAll = (isClosed: boolean) =>
    setClosed(new Set(isClosed ? parentsOf(timeline).map(({ key }) => key) : []));
  return (
    <>
      <Summary
        timeline={timeline}
        isFolded={closed.size > 0}
        onFoldAll={foldAll}
        onSelect={reveal}
      />
      <Tree
        timeline={timeline}
        closed={closed}
        onToggle={toggle}
        selected={selected}
        onSelect={({ key }) => onSelect(key)}
        onPoint={(each) => point(each ? { runId, ids: idsOf(each), from: "rows" } : NOWHERE)}
        isPointed={isPointed}
      >
        <Axis timeline={timeline} at={placeOf(timeline, entries, at)} />
      </Tree>
      {span && (
        <SpanDetail
          span={span}
          timed={timeline.timed}
          onClose={() => onSelect(undefined)}
          onEvents={span.first > 0 ? () => props.onEvents(span.first) : undefined}
          onPlay={span.first > 0 ? () => props.onPlay(span.first) : undefined}
          onChat={idsOf(span).length > 0 ? () => revealCard(runId, idsOf(span)) : undefined}
          onCall={span.kind === "model" ? () => props.onCall(span.number ?? 1) : undefined}
        />
      )}
    </>
  );
}

const shares = (some: readonly string[], others: readonly string[]) =>
  some.some((id) => others.includes(id));

/** All that has children, without the run: its children stay in sight. */
const parentsOf = ({ spans }: Spans) =>
  spans.filter(({ parent, children }) => parent && children.length > 0);

/** Where an entry is on the scale. */
function placeOf(
  { timed, startedAt }: Spans,
  entries: readonly Entry[],
  at: number | undefined,
): number | undefined {
  if (at === undefined) return undefined;
  if (!timed) return at;
  const ts = entries.findLast((entry, index) => index < at && entry.ts !== null)?.ts ?? undefined;
  return ts === undefined ? 0 : Math.max(0, ts - (startedAt ?? ts));
}
