import { FileQuestion } from "lucide-react";
import { useMemo } from "react";
import { CodePane } from "@/panes/CodePane";
import { inPane } from "@/panes/fold";
import { usePanes } from "@/panes/reading";
import { TerminalPane } from "@/panes/TerminalPane";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { strings } from "@/strings";
import { Empty } from "@/ui/Empty";

const PANES = {
  code: { Pane: CodePane, of: "webide" },
  terminal: { Pane: TerminalPane, of: "terminal" },
} as const;

interface PanesProps {
  runId: string;
  pane: keyof typeof PANES;
}

/** The panes that read the format `panes`; one component, one run. */
export default function Panes({ runId, pane }: PanesProps) {
  const { phase, problem, messages, retry } = usePanes(runId);
  const { Pane, of } = PANES[pane];
  const shown = useMemo(() => inPane(messages, of), [messages, of]);
  if (phase === "gone") {
    return (
      <Empty icon={<FileQuestion />} title={strings.panes.gone} line={strings.panes.goneLine} />
    );
  }
  return (
    <>
      <div role="status">
        {phase === "lost" && (
          <p className="border-b bg-running-ground px-3 py-1.5 text-block text-running">
            {strings.shell.reconnecting}
          </p>
        )}
      </div>
      {problem !== undefined && (
        <div className="p-3">
          <ErrorBlock network text={problem} onRetry={retry} />
        </div>
      )}
      {(shown.length > 0 || phase !== "failed") && (
        <Pane messages={shown} live={phase === "reading" || phase === "lost"} />
      )}
    </>
  );
}
