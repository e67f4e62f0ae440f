import { Code2, Files, ScanSearch, SquareTerminal, X } from "lucide-react";
import { Tabs } from "radix-ui";
import { lazy, memo, type ReactElement, type ReactNode, Suspense } from "react";
import { Boundary } from "@/panel/Boundary";
import { PanelFrame } from "@/panel/PanelFrame";
import { closePanel } from "@/panel/toggle";
import type { ShownRun } from "@/panel/useShownRun";
import { PANES, type Pane, panel } from "@/state/panel";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";

const Panes = lazy(() => import("@/panes/Panes"));
const FilesPane = lazy(() => import("@/previews/FilesPane"));
const Inspector = lazy(() => import("@/inspector/Inspector"));

interface OpenChat {
  chatId: string;
  /** Whether an agent is at work. */
  isWorking: boolean;
}
/** Without a chat there are no files: a shared chat has none. */
type SidePanelProps = ShownRun & Partial<OpenChat>;

interface Look {
  icon: ReactNode;
  /** Panes with the same key here share one reader. */
  show: (runId: string, chat?: OpenChat) => ReactElement;
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
  files: {
    icon: <Files aria-hidden />,
    show: (_, chat) => (
      <FilesPane key={`files ${chat?.chatId}`} chatId="" isWorking={false} {...chat} />
    ),
  },
  inspector: {
    icon: <ScanSearch aria-hidden />,
    show: (runId) => <Inspector key={`inspector ${runId}`} runId={runId} />,
  },
};

/** Code, terminal and inspector of a run: beside the chat where there is room, else over it. */
export const SidePanel = memo(function SidePanel(props: SidePanelProps) {
  return (
    <PanelFrame>
      <Panel {...props} />
    </PanelFrame>
  );
});

function Panel({ runId, isNewest, chatId, isWorking = false }: SidePanelProps) {
  const chat = chatId === undefined ? undefined : { chatId, isWorking };
  const panes = PANES.filter((each) => chat || each !== "files");
  const { pane: wanted } = panel.use();
  const pane = panes.includes(wanted) ? wanted : "inspector";
  const { icon, show } = LOOKS[pane];
  const shown = runId === undefined ? undefined : show(runId, chat);
  return (
    <Tabs.Root
      value={pane}
      onValueChange={(chosen) => panel.show(chosen as Pane)}
      className="flex min-h-0 flex-1 flex-col"
    >
      <Head panes={panes} />
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

const Head = ({ panes }: { panes: readonly Pane[] }) => (
  <div className="flex h-12 shrink-0 items-center gap-2 border-b px-2">
    <Tabs.List
      aria-label={strings.panel.panes}
      className="flex h-full min-w-0 gap-1 overflow-x-auto"
    >
      {panes.map((each) => (
        <Tabs.Trigger
          key={each}
          value={each}
          className="flex items-center gap-1.5 border-b-2 border-transparent px-2 text-block font-medium text-ink-2 hover:text-ink focus-visible:outline-offset-[-2px] data-[state=active]:border-accent data-[state=active]:text-ink max-sm:[&_svg]:hidden [&_svg]:size-4"
        >
          {LOOKS[each].icon}
          {strings.panel.names[each]}
        </Tabs.Trigger>
      ))}
    </Tabs.List>
    <IconButton label={strings.panel.close} className="ms-auto" onClick={closePanel}>
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
