import { ArrowLeft, FolderOpen, X } from "lucide-react";
import { lazy, Suspense, useEffect } from "react";
import { Boundary } from "@/panel/Boundary";
import { PanelButton } from "@/panel/PanelButton";
import { PanelFrame } from "@/panel/PanelFrame";
import { closePanel } from "@/panel/toggle";
import { access } from "@/state/access";
import { panel } from "@/state/panel";
import { navigate } from "@/state/route";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { ROOMY, useMedia } from "@/ui/useMedia";
import { FrameworkChoice } from "@/view/FrameworkChoice";
import { KeepButton } from "@/view/KeepButton";
import { RecordedChat } from "@/view/RecordedChat";
import type { Recording } from "@/view/recording";

const words = strings.viewing;
const RunInspector = lazy(() =>
  import("@/inspector/Inspector").then((module) => ({ default: module.RunInspector })),
);

interface OpenedProps {
  recording: Recording;
  /** The page belongs to a server with chats. */
  hasChats: boolean;
  onFramework: (framework: string) => void;
  onChoose: () => void;
}

/** A recording as chat, and beside it as timeline, events and frames. */
export function Opened({ recording, hasChats, onFramework, onChoose }: OpenedProps) {
  const isRoomy = useMedia(ROOMY);
  const { known } = useStore(recording.facts);
  useEffect(() => {
    access.set({ readOnly: true, inspects: true });
    if (isRoomy) panel.open();
    panel.show("inspector");
    return () => access.set({ readOnly: false, inspects: true });
  }, [isRoomy]);
  return (
    <>
      <main className="@container flex h-full min-w-0 flex-1 flex-col">
        <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b px-2 py-1.5 md:px-4">
          {hasChats && (
            <IconButton label={words.back} onClick={() => navigate({ page: "new" })}>
              <ArrowLeft aria-hidden className="rtl:rotate-180" />
            </IconButton>
          )}
          <h1
            title={recording.file.name}
            className="min-w-24 flex-1 truncate text-sm font-semibold"
          >
            {recording.file.name || words.title}
          </h1>
          <Button onClick={onChoose} aria-label={words.another}>
            <FolderOpen aria-hidden className="size-4" />
            <span className="@max-2xl:sr-only">{words.another}</span>
          </Button>
          {hasChats && known && <KeepButton recording={recording} />}
          <PanelButton />
          {known && <FrameworkChoice facts={known} onChoose={onFramework} />}
        </header>
        <RecordedChat recording={recording} />
      </main>
      <PanelFrame>
        <div className="flex h-12 shrink-0 items-center gap-2 border-b px-3">
          <h2 className="flex-1 text-block font-semibold">{words.inspector}</h2>
          <IconButton label={strings.panel.close} onClick={closePanel}>
            <X aria-hidden />
          </IconButton>
        </div>
        <Boundary>
          <Suspense fallback={<p className="p-4 text-block text-ink-2">{strings.panel.loading}</p>}>
            <RunInspector source={recording} />
          </Suspense>
        </Boundary>
      </PanelFrame>
    </>
  );
}
