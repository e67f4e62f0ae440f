import { ArrowLeftRight } from "lucide-react";
import { useMemo } from "react";
import { isOver, OURS } from "@/inspector/entries";
import { Failed, Loading } from "@/inspector/Failures";
import { storedRun } from "@/inspector/source";
import type { Timeline } from "@/inspector/timeline/spans";
import { useTimeline } from "@/inspector/timeline/useTimeline";
import { useRun } from "@/inspector/useRun";
import { locale } from "@/language";
import { ComparedFigures } from "@/runPages/ComparedFigures";
import { ComparedSteps } from "@/runPages/ComparedSteps";
import { navigate } from "@/state/route";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { RouteLink } from "@/ui/RouteLink";

const words = strings.inspecting.compare;
const NO_CALLS: never[] = [];

/** Two runs side by side: their figures, and their steps on one scale. */
export function ComparePage({ first, second }: { first: string; second: string }) {
  const one = useTimelineOf(first);
  const other = useTimelineOf(second);
  const failed = [one, other].find(({ run }) => run.phase === "gone" || run.phase === "failed");
  if (failed) return <Failed run={failed.run}>{null}</Failed>;
  if (one.run.entries.length === 0 || other.run.entries.length === 0) return <Loading />;
  const timelines = [one.timeline, other.timeline] as const;
  return (
    <div className="@container min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-6xl flex-col gap-6 p-3 md:p-4">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-block">
          <RouteLink to={{ page: "run", id: first }} className={LINK}>
            {nameOfRun(words.first, one.timeline)}
          </RouteLink>
          <RouteLink to={{ page: "run", id: second }} className={LINK}>
            {nameOfRun(words.second, other.timeline)}
          </RouteLink>
          <Button
            className="ms-auto"
            onClick={() => navigate({ page: "compare", first: second, second: first })}
          >
            <ArrowLeftRight aria-hidden className="size-4" />
            {words.swap}
          </Button>
        </div>
        <ComparedFigures timelines={timelines} />
        <ComparedSteps timelines={timelines} />
      </div>
    </div>
  );
}

const LINK = "underline max-md:leading-11";
const SHORT = { dateStyle: "short", timeStyle: "medium" } as const;

/** Which run it is: its agent, and when it was started. */
function nameOfRun(place: string, { root, startedAt }: Timeline): string {
  const when = startedAt ? new Date(startedAt).toLocaleString(locale, SHORT) : "";
  return words.named(place, root.name, when);
}

function useTimelineOf(id: string) {
  const source = useMemo(() => storedRun(id), [id]);
  const run = useRun(source, OURS);
  const timeline = useTimeline(run.entries, !isOver(run.entries), NO_CALLS);
  return { run, timeline };
}
