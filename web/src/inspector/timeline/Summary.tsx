import { ChevronsDownUp, ChevronsUpDown } from "lucide-react";
import { type Figures, figuresOf } from "@/inspector/timeline/figures";
import type { Span, Timeline } from "@/inspector/timeline/spans";
import { costText, lengthText, nameOf } from "@/inspector/timeline/words";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

const words = strings.inspecting.timeline;

/** What the run comes to, the most important first; what is none is left out. */
function factsOf(figures: Figures, timed: boolean): string[] {
  const { duration, tools, subagents, failed, atOnce, waited, tokens, cost } = figures;
  return [
    lengthText(duration, timed),
    tools && words.toolCount(tools),
    subagents && words.subagentCount(subagents),
    failed && words.failedCount(failed),
    atOnce > 1 && words.atOnce(atOnce),
    timed && waited > 0 && words.waited(lengthText(waited, true)),
    tokens && words.tokenCount(tokens),
    costText(cost),
  ].filter((fact): fact is string => Boolean(fact));
}

interface SummaryProps {
  timeline: Timeline;
  isFolded: boolean;
  onFoldAll: (closed: boolean) => void;
  onSelect: (span: Span) => void;
}

/** One line of figures, and the buttons for the whole tree. */
export function Summary({ timeline, isFolded, onFoldAll, onSelect }: SummaryProps) {
  const { timed } = timeline;
  const figures = figuresOf(timeline);
  const facts = factsOf(figures, timed);
  const { slowest } = figures;
  return (
    <div className="flex shrink-0 items-center gap-2 border-b px-3 py-1">
      <p className="min-w-0 flex-1 text-mono text-ink-2 tabular-nums">
        {facts.join(" · ")}
        {timed && slowest && (
          <>
            {" · "}
            <button
              type="button"
              onClick={() => onSelect(slowest)}
              className="rounded-small text-accent underline underline-offset-2 max-md:min-h-11"
            >
              {words.slowest(nameOf(slowest), lengthText(slowest.to - slowest.from, timed))}
            </button>
          </>
        )}
        {!timed && <span className="block">{words.untimed}</span>}
      </p>
      <IconButton
        label={isFolded ? words.expandAll : words.collapseAll}
        onClick={() => onFoldAll(!isFolded)}
      >
        {isFolded ? <ChevronsUpDown aria-hidden /> : <ChevronsDownUp aria-hidden />}
      </IconButton>
    </div>
  );
}
