import { Code2, ScanSearch, SquareTerminal, X } from "lucide-react";
import { Tabs } from "radix-ui";
import { lazy, memo, type ReactElement, type ReactNode, Suspense } from "react";
import { Boundary } from "@/panel/Boundary";
import { Resizer, usePanelWidth } from "@/panel/Resizer";
import { closePanel, PANEL } from "@/panel/toggle";
import type { ShownRun } from "@/panel/useShownRun";
import { PANES, type Pane, panel } from "@/state/panel";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { Sheet } from "@/ui/Dialog";
import { Empty } from "@/ui/Empty";
import { ROOMY, useMedia } from "@/ui/useMedia";

const Panes = lazy(() => import("@/panes/Panes"));
const Inspector = lazy(() => import("@/inspector/Inspector"));

interface Look {
  icon: ReactNode;
  /** Panes with the same key here share one reader. */
  show: (runId: string) => ReactElement;
}

const LOOKS: Record<Pane, Look> = {
  code: {
    icon: <Code2 aria-hidden />,
    show: (runId) => <Panes key={`panes ${runId}`} runId={runId} pane="code" />,
  },
  terminal: {
    icon: <SquareTerminal aria-hidden />,
    show: (runId) => <Panes key={`panes ${runId}`} runId={runId} pane="terminal" />,
  },
  inspector: {
    icon: <ScanSearch aria-hidden />,
    show: (runId) => <Inspector key={`inspector ${runId}`} runId={runId} />,
  },
};

/** Code, terminal and inspector of a run: beside the chat where there is room, else over it. */
export const SidePanel = memo(function SidePanel(props: ShownRun) {
  const { open } = panel.use();
  const isRoomy = useMedia(ROOMY);
  const content = <Panel {...props} />;
  if (!isRoomy) {
    return (
      <Sheet id={PANEL} open={open} onClose={closePanel} title={strings.panel.name}>
        {content}
      </Sheet>
    );
  }
  return open ? <Beside>{content}</Beside> : null;
});

function Beside({ children }: { children: ReactNode }) {
  const width = usePanelWidth();
  return (
    <>
      <Resizer width={width} />
      <aside
        id={PANEL}
        aria-label={strings.panel.name}
        style={{ width }}
        className="flex h-full shrink-0 flex-col"
      >
        {children}
      </aside>
    </>
  );
}

function Panel({ runId, isNewest }: ShownRun) {
  const { pane } = panel.use();
  const { icon, show } = LOOKS[pane];
  const shown = runId === undefined ? undefined : show(runId);
  return (
    <Tabs.Root
      value={pane}
      onValueChange={(chosen) => panel.show(chosen as Pane)}
      className="flex min-h-0 flex-1 flex-col"
    >
      <Head />
      {!isNewest && <Earlier />}
      <Tabs.Content
        value={pane}
        // Its content is focusable.
        tabIndex={-1}
        className="flex min-h-0 flex-1 flex-col outline-none"
      >
        {shown === undefined ? (
          <Empty icon={icon} title={strings.panel.noRun} line={strings.panel.noRunLine[pane]} />
        ) : (
          <Boundary key={shown.key}>
            <Suspense fallback={<Loading />}>{shown}</Suspense>
          </Boundary>
        )}
      </Tabs.Content>
    </Tabs.Root>
  );
}

const Head = () => (
  <div className="flex h-12 shrink-0 items-center gap-2 border-b px-2">
    <Tabs.List aria-label={strings.panel.panes} className="flex h-full min-w-0 gap-1">
      {PANES.map((each) => (
        <Tabs.Trigger
          key={each}
          value={each}
          className="flex items-center gap-1.5 border-b-2 border-transparent px-2 text-block font-medium text-ink-2 hover:text-ink focus-visible:outline-offset-[-2px] data-[state=active]:border-accent data-[state=active]:text-ink [&_svg]:size-4"
        >
          {LOOKS[each].icon}
          {strings.panel.names[each]}
        </Tabs.Trigger>
      ))}
    </Tabs.List>
    <IconButton label={strings.panel.close} className="ml-auto" onClick={closePanel}>
      <X aria-hidden />
    </IconButton>
  </div>
);

/** The panel shows an earlier run. */
const Earlier = () => (
  <div className="flex shrink-0 items-center justify-between gap-2 border-b bg-ground-2 px-3 py-1 text-block text-ink-2">
    {strings.panel.earlier}
    <Button kind="quiet" onClick={() => panel.choose(undefined)}>
      {strings.panel.newest}
    </Button>
  </div>
);

const Loading = () => (
  <p role="status" className="p-4 text-block text-ink-2">
    {strings.panel.loading}
  </p>
);
