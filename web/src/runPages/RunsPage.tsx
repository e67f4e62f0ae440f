import { ListVideo } from "lucide-react";
import { useState } from "react";
import type { RunRow } from "@/api";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { Chosen } from "@/runPages/Chosen";
import { Filters } from "@/runPages/Filters";
import { Heads, RunItem } from "@/runPages/RunItem";
import { type RunChoice, useRuns } from "@/runPages/useRuns";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";

const words = strings.inspecting.runs;
const ALL: RunChoice = { order: "newest", outcome: "all", agent: "" };

/** The runs of all chats: found, sorted, opened, and two of them compared. */
export function RunsPage() {
  const [choice, setChoice] = useState(ALL);
  const [picked, setPicked] = useState<readonly string[]>([]);
  const { rows, before, phase, problem, retry, more } = useRuns(choice);
  // The first of two gives way to a third.
  const pick = ({ id }: RunRow) =>
    setPicked((now) => (now.includes(id) ? now.filter((it) => it !== id) : [...now, id].slice(-2)));
  const isFiltered = choice.outcome !== "all" || choice.agent !== "";
  const isEmpty = phase === "ready" && rows.length === 0;
  return (
    <div className="@container flex min-h-0 flex-1 flex-col">
      <Filters choice={choice} onChoose={setChoice} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <p role="status" className="sr-only">
          {phase === "loading" ? words.loading : ""}
        </p>
        {phase === "failed" && (
          <div className="p-3">
            <ErrorBlock network text={problem ?? words.failed} onRetry={retry} />
          </div>
        )}
        {isEmpty && !isFiltered && (
          <Empty icon={<ListVideo aria-hidden />} title={words.none} line={words.noneLine} />
        )}
        {isEmpty && isFiltered && (
          <div className="flex flex-col items-center gap-3 px-6 py-10 text-block text-ink-2">
            {words.noMatch}
            <Button onClick={() => setChoice({ ...ALL, order: choice.order })}>
              {words.showAll}
            </Button>
          </div>
        )}
        {rows.length > 0 && <Heads />}
        <ul aria-label={words.title} aria-busy={phase === "loading"}>
          {rows.map((row) => (
            <RunItem key={row.id} row={row} isPicked={picked.includes(row.id)} onPick={pick} />
          ))}
        </ul>
        {before && (
          <div className="flex justify-center p-3">
            <Button onClick={more} disabled={phase === "loading"}>
              {words.more}
            </Button>
          </div>
        )}
      </div>
      {rows.length > 1 && <Chosen picked={picked} onClear={() => setPicked([])} />}
    </div>
  );
}
