import { Columns3 } from "lucide-react";
import { Tabs } from "radix-ui";
import { Downloads } from "@/inspector/Downloads";
import type { RunSource } from "@/inspector/source";
import type { InspectedRun } from "@/inspector/useRun";
import { type InspectorView, panelWidth } from "@/state/panel";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { useMedia } from "@/ui/useMedia";

const words = strings.inspector;

/** The panel width for three columns, and the page width that allows it, in pixels. */
const THREE_COLUMNS = 800;
const WIDEST = "(min-width: 82rem)";

interface InspectorHeadProps {
  views: readonly InspectorView[];
  source: RunSource;
  run: InspectedRun;
  hasDownloads: boolean;
}

/** The tabs of the inspector, the state of the run, and downloads. */
export const InspectorHead = ({ views, source, run, hasDownloads }: InspectorHeadProps) => (
  <div className="flex shrink-0 flex-wrap items-center gap-1 border-b py-1.5 ps-3 pe-2">
    <Tabs.List
      aria-label={words.view}
      className="flex max-w-full flex-wrap gap-0.5 rounded-lg bg-ground-3 p-0.5"
    >
      {views.map((each) => (
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
    {hasDownloads && <Downloads source={source} run={run} />}
  </div>
);

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
  <span className="ms-auto me-1 flex items-center gap-1.5 text-mono text-ink-2">
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
