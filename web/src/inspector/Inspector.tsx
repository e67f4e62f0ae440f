import { CircleAlert, Columns3, LoaderCircle } from "lucide-react";
import { Tabs } from "radix-ui";
import { type ReactNode, useState } from "react";
import { Downloads } from "@/inspector/Downloads";
import { Events } from "@/inspector/Events";
import { isOver } from "@/inspector/entries";
import { formatParameter, nameOfFormat, useFormats } from "@/inspector/formats";
import { Stderr, Stdout } from "@/inspector/Output";
import { FormatMenu } from "@/inspector/Toolbar";
import { useEventsView } from "@/inspector/useEventsView";
import { type InspectedRun, useRun } from "@/inspector/useRun";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { panelWidth } from "@/state/panel";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Empty } from "@/ui/Empty";
import { useMedia } from "@/ui/useMedia";

const words = strings.inspector;

const VIEWS = ["events", "stdout", "stderr"] as const;
/** The panel width for three columns, and the page width that allows it, in pixels. */
const THREE_COLUMNS = 800;
const WIDEST = "(min-width: 82rem)";

type View = (typeof VIEWS)[number];

/** Raw lines, events and frames of a run. Loads nothing while it is hidden. */
export default function Inspector({ runId }: { runId: string }) {
  const [view, setView] = useState<View>("events");
  const { formats, chosen, choose } = useFormats();
  const run = useRun(runId, formatParameter(chosen));
  const events = useEventsView(runId, run);
  const over = isOver(run.entries);
  const hasSome = run.entries.length > 0;
  // Loading another format may fail: the entries read before and the format menu stay.
  const isBroken = run.phase === "gone" || (run.phase === "failed" && !hasSome);
  const isHere = !isBroken && hasSome;
  return (
    <Tabs.Root
      value={view}
      onValueChange={(next) => setView(next as View)}
      className="@container flex min-h-0 flex-1 flex-col"
    >
      <div className="flex shrink-0 items-center gap-1 border-b py-1.5 pr-2 pl-3">
        <Tabs.List aria-label={words.view} className="flex gap-0.5 rounded-lg bg-ground-3 p-0.5">
          {VIEWS.map((each) => (
            <Tabs.Trigger
              key={each}
              value={each}
              className="min-h-7 rounded-small px-2.5 text-mono font-medium text-ink-2 hover:text-ink data-[state=active]:bg-ground data-[state=active]:text-ink data-[state=active]:shadow-sm max-md:min-h-10"
            >
              {words.views[each]}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <State run={run} />
        <Wider />
        {isHere && <Downloads runId={runId} run={run} />}
      </div>
      <Tabs.Content
        value={view}
        tabIndex={-1}
        className="flex min-h-0 flex-1 flex-col outline-none"
      >
        {isBroken && (
          <Failed run={run}>
            <FormatMenu formats={formats ?? []} chosen={chosen} onChoose={choose} />
          </Failed>
        )}
        {isHere && run.phase === "failed" && (
          <div className="p-3">
            <ErrorBlock
              network
              text={`${words.notRead(nameOfFormat(chosen))} ${run.problem ?? ""}`}
              onRetry={run.retry}
            />
          </div>
        )}
        {!isBroken && !isHere && <Loading />}
        {isHere && view === "events" && (
          <Events
            runId={runId}
            run={run}
            view={events}
            formats={formats ?? []}
            chosen={chosen}
            onChoose={choose}
          />
        )}
        {isHere && view === "stdout" && <Stdout entries={run.entries} over={over} />}
        {isHere && view === "stderr" && <Stderr runId={runId} over={over} />}
      </Tabs.Content>
    </Tabs.Root>
  );
}

const DOTS: Record<InspectedRun["phase"], string> = {
  loading: "bg-ink-2",
  live: "bg-ok animate-shimmer",
  waiting: "bg-running",
  over: "bg-ink-2",
  lost: "bg-running animate-shimmer",
  gone: "bg-bad",
  failed: "bg-bad",
};

/** The state of the run. Not a live region: the chat announces the end. */
const State = ({ run: { phase } }: { run: InspectedRun }) => (
  <span className="mx-auto mr-1 flex items-center gap-1.5 text-mono text-ink-2">
    <span aria-hidden className={classes("size-2 rounded-full", DOTS[phase])} />
    {words.states[phase]}
  </span>
);

/** Widens the panel for three columns, if the page has room. */
function Wider() {
  const hasRoom = useMedia(WIDEST);
  if (!hasRoom) return null;
  return (
    <IconButton
      label={words.wider}
      onClick={() => panelWidth.set(THREE_COLUMNS)}
      className="size-8! @2xl:hidden"
    >
      <Columns3 aria-hidden />
    </IconButton>
  );
}

const Loading = () => (
  <p className="flex items-center justify-center gap-2 px-6 py-10 text-block text-ink-2">
    <LoaderCircle aria-hidden className="size-4 animate-spin" />
    {words.loading}
  </p>
);

interface FailedProps {
  run: InspectedRun;
  /** Other formats. */
  children: ReactNode;
}

const Failed = ({ run: { phase, problem, retry }, children }: FailedProps) => (
  <Empty
    icon={<CircleAlert aria-hidden />}
    title={words.failed}
    line={phase === "gone" ? words.gone : (problem ?? "")}
  >
    {phase === "failed" && (
      <div className="flex flex-wrap justify-center gap-2">
        <Button onClick={retry}>{strings.retry}</Button>
        {children}
      </div>
    )}
  </Empty>
);
