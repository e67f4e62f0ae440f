import { RotateCw, ScrollText, TriangleAlert } from "lucide-react";
import { useHasPanel } from "@/state/access";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface ErrorBlockProps {
  text: string;
  /** The code of a run's error. */
  code?: string;
  /** The run that failed: its stderr can be shown. */
  run?: string;
  /** The request failed, not the agent. */
  network?: boolean;
  /** It happened just now: screen readers announce it. */
  live?: boolean;
  onRetry?: () => void;
}

/** The code of an agent that ended without a result. */
const CRASHED = "crashed";

/** An error, with a Retry button if possible. */
export function ErrorBlock(props: ErrorBlockProps) {
  const { text, code, run, network = false, live = true, onRetry } = props;
  const hasPanel = useHasPanel();
  const title = code === CRASHED ? strings.activity.crashed : strings.parts.error;
  return (
    <div
      role={live ? "alert" : undefined}
      className="flex flex-wrap items-start gap-x-3 gap-y-2 rounded-block border border-bad-line bg-bad-ground px-3 py-2.5 text-block"
    >
      <TriangleAlert aria-hidden className="mt-[3px] size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1 basis-48">
        <p className="font-medium text-bad">{network ? strings.parts.requestFailed : title}</p>
        <p className="break-words whitespace-pre-wrap">{text}</p>
        {code && (
          <p className="font-mono text-mono break-all">{strings.activity.errorCode(code)}</p>
        )}
      </div>
      {run !== undefined && !network && hasPanel && (
        <Button kind="quiet" onClick={() => panel.inspect("stderr", run)}>
          <ScrollText aria-hidden className="size-4" />
          {strings.activity.showStderr}
        </Button>
      )}
      {onRetry && (
        <Button kind="danger" onClick={onRetry} className="bg-ground">
          <RotateCw aria-hidden className="size-4" />
          {strings.retry}
        </Button>
      )}
    </div>
  );
}
