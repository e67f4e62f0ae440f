import { useMemo } from "react";
import { BARS, LOOKS } from "@/inspector/timeline/looks";
import type { Span, Timeline } from "@/inspector/timeline/spans";
import { lengthText, nameOf } from "@/inspector/timeline/words";
import { alignedSteps, type Pair } from "@/runPages/align";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.inspecting.compare;
const { states } = strings.inspecting.timeline;
/** Further rows are not drawn: nobody compares that many by eye. */
const MOST = 600;

interface ComparedStepsProps {
  timelines: readonly [Timeline, Timeline];
}

/** The steps of two runs, aligned, with bars on one scale. */
export function ComparedSteps({ timelines: [one, other] }: ComparedStepsProps) {
  const pairs = useMemo(() => alignedSteps(one.root, other.root), [one, other]);
  const length = Math.max(one.length, other.length);
  return (
    <section aria-label={words.steps}>
      <table className="w-full table-fixed text-mono">
        <thead>
          <tr className="border-b text-label text-ink-2">
            <th scope="col" className="w-2/5 py-1.5 text-start font-medium @2xl:w-1/4">
              {words.steps}
            </th>
            <th scope="col" className="text-start font-medium">
              {words.first}
            </th>
            <th scope="col" className="text-start font-medium">
              {words.second}
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.slice(0, MOST).map((pair) => (
            <tr key={pair.key} className="border-b align-middle">
              <Name pair={pair} />
              <Side span={pair.first} length={length} timed={one.timed} />
              <Side span={pair.second} length={length} timed={other.timed} />
            </tr>
          ))}
        </tbody>
      </table>
      {pairs.length > MOST && (
        <p className="py-2 text-mono text-ink-2">{words.cut(pairs.length - MOST)}</p>
      )}
    </section>
  );
}

function Name({ pair: { level, first, second } }: { pair: Pair }) {
  const span = first ?? second;
  if (!span) return null;
  const { icon: Icon, ink } = LOOKS[span.kind];
  return (
    <th scope="row" className="py-1.5 pe-2 text-start font-normal">
      <span
        className="flex min-w-0 items-center gap-1.5"
        style={{ paddingInlineStart: `${(Math.min(level, 8) - 1) * 0.6}rem` }}
      >
        <Icon aria-hidden className={classes("size-3.5 shrink-0", ink)} />
        <span className="truncate" title={nameOf(span)}>
          {nameOf(span)}
        </span>
      </span>
    </th>
  );
}

interface SideProps {
  span: Span | undefined;
  length: number;
  timed: boolean;
}

function Side({ span, length, timed }: SideProps) {
  if (!span) return <td className="py-1.5 text-label text-ink-2 italic">{words.missing}</td>;
  const percent = (value: number) => `${((100 * value) / length).toFixed(3)}%`;
  const isBad = span.status === "error" || span.status === "denied";
  return (
    <td className="py-1.5 pe-2">
      <span className="flex flex-wrap gap-x-2 tabular-nums">
        {lengthText(span.to - span.from, timed)}
        {states[span.status] && (
          <span className={isBad ? "text-bad" : "text-ink-2"}>{states[span.status]}</span>
        )}
      </span>
      <span aria-hidden className="relative mt-0.5 block h-1.5">
        <span
          style={{ insetInlineStart: percent(span.from), width: percent(span.to - span.from) }}
          className={classes(
            "absolute inset-y-0 min-w-0.75 rounded-full",
            LOOKS[span.kind].bar,
            BARS[span.status],
          )}
        />
      </span>
    </td>
  );
}
