import { ChevronsDownUp, ChevronsUpDown } from "lucide-react";
import { type Figures, figuresOf } from "@/inspector/timeline/figures";
import type { Timeline } from "@/inspector/timeline/spans";
import { costText, lengthText } from "@/inspector/timeline/words";
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
}

/** One line of figures, and the buttons for the whole tree. */
export function Summary({ timeline, isFolded, onFoldAll }: SummaryProps) {
  const facts = factsOf(figuresOf(timeline), timeline.timed);
  return (
    <div className="flex shrink-0 items-center gap-2 border-b px-3 py-1">
      <p className="min-w-0 flex-1 text-mono text-ink-2 tabular-nums">
        {facts.join(" · ")}
        {!timeline.timed && <span className="block">{words.untimed}</span>}
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
