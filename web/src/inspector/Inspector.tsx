import { Tabs } from "radix-ui";
import { useCallback, useMemo, useRef, useState } from "react";
import { Events } from "@/inspector/Events";
import { isOver } from "@/inspector/entries";
import { Failed, Loading, Misread } from "@/inspector/Failures";
import { formatParameter, nameOfFormat, useFormats } from "@/inspector/formats";
import { InspectorHead } from "@/inspector/InspectorHead";
import { ModelCalls } from "@/inspector/ModelCalls";
import { Stderr, Stdout } from "@/inspector/Output";
import { Player } from "@/inspector/play/Player";
import { usePlay } from "@/inspector/play/usePlay";
import { usePlayKeys } from "@/inspector/play/usePlayKeys";
import { Preview } from "@/inspector/Replay";
import { type RunSource, storedRun } from "@/inspector/source";
import { FormatMenu } from "@/inspector/Toolbar";
import { Timeline } from "@/inspector/timeline/Timeline";
import { useTimeline } from "@/inspector/timeline/useTimeline";
import { useEventsView } from "@/inspector/useEventsView";
import { useModelCalls } from "@/inspector/useModelCalls";
import { useParts } from "@/inspector/useParts";
import { useRun } from "@/inspector/useRun";
import { type InspectorView, inspectorView, VIEWS } from "@/state/panel";
import { ROOMY, useMedia } from "@/ui/useMedia";

/** The inspector of a stored run. Loads nothing while it is hidden. */
export default function Inspector({ runId }: { runId: string }) {
  const source = useMemo(() => storedRun(runId), [runId]);
  return <RunInspector source={source} />;
}

/** What a view needs of its source. */
const NEEDS: Partial<Record<InspectorView, keyof RunSource>> = {
  stderr: "stderr",
  models: "modelCalls",
};
const NO_CALLS: never[] = [];

interface RunInspectorProps {
  /** One component, one source: give it a key. */
  source: RunSource;
  /** No chat beside it shows the replay: the inspector does. */
  alone?: boolean;
}

/** Timeline, events with lines and frames, output and model calls of a run, from any source. */
export function RunInspector({ source, alone = false }: RunInspectorProps) {
  const { id } = source;
  const [wanted, setView] = inspectorView.use();
  const views = VIEWS.filter((each) => !NEEDS[each] || source[NEEDS[each]]);
  const view = views.includes(wanted) ? wanted : "timeline";
  const { formats, chosen, choose } = useFormats(source);
  const run = useRun(source, formatParameter(chosen));
  const events = useEventsView(id, run);
  const over = isOver(run.entries);
  const playing = usePlay(events.entries, events.at, events.setAt);
  const showsCalls = view === "models" || view === "timeline";
  const calls = useModelCalls(source, showsCalls, over);
  const timeline = useTimeline(
    run.entries,
    view === "timeline" && !over && run.phase !== "failed",
    typeof calls === "object" ? calls.calls : NO_CALLS,
  );
  const [selected, select] = useState<string>();
  const [target, setTarget] = useState<{ seq: number }>();
  const [openCall, setOpenCall] = useState<number>();
  const box = useRef<HTMLDivElement>(null);
  const hasChat = useMedia(ROOMY) && !alone;
  const hasSome = run.entries.length > 0;
  // Loading another format may fail: the entries read before and the format menu stay.
  const isBroken = run.phase === "gone" || (run.phase === "failed" && !hasSome);
  const isHere = !isBroken && hasSome;
  useParts(id);
  const { at, setAt, entries } = events;
  const step = useCallback(
    (by: number) => {
      const to = (at ?? entries.length) + by;
      setAt(to >= entries.length ? undefined : Math.max(1, to));
    },
    [at, setAt, entries.length],
  );
  usePlayKeys({ box, active: at !== undefined, onToggle: playing.toggle, onStep: step });
  const showEvents = (seq: number) => {
    events.showAll();
    setTarget({ seq });
    setView("events");
  };
  const showCall = (n: number) => {
    setOpenCall(n);
    setView("models");
  };
  return (
    <Tabs.Root
      ref={box}
      value={view}
      onValueChange={(next) => setView(next as InspectorView)}
      className="@container flex min-h-0 flex-1 flex-col"
    >
      <InspectorHead views={views} source={source} run={run} hasDownloads={isHere} />
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
        {isHere && run.phase === "failed" && <Misread run={run} format={nameOfFormat(chosen)} />}
        {!isBroken && !isHere && <Loading />}
        {isHere && view === "timeline" && (
          <Timeline
            runId={id}
            entries={run.entries}
            timeline={timeline}
            at={at}
            selected={selected}
            onSelect={select}
            onEvents={showEvents}
            onPlay={playing.playFrom}
            onCall={showCall}
          />
        )}
        {isHere && view === "events" && (
          <Events
            runId={id}
            run={run}
            view={events}
            formats={formats ?? []}
            chosen={chosen}
            onChoose={choose}
            target={target}
          />
        )}
        {isHere && view === "stdout" && <Stdout entries={run.entries} over={over} />}
        {isHere && view === "stderr" && <Stderr source={source} over={over} />}
        {isHere && view === "models" && (
          <ModelCalls source={source} loaded={calls} open={openCall} onOpen={setOpenCall} />
        )}
        {isHere && (view === "timeline" || view === "events") && (
          <>
            {!hasChat && <Preview at={at} />}
            <Player
              entries={entries}
              at={at}
              onMove={setAt}
              playing={playing}
              hasPresent={hasChat}
            />
          </>
        )}
      </Tabs.Content>
    </Tabs.Root>
  );
}
