import { RotateCw, TriangleAlert } from "lucide-react";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface ErrorBlockProps {
  text: string;
  /** The request failed, not the agent. */
  network?: boolean;
  /** It happened just now: screen readers announce it. */
  live?: boolean;
  onRetry?: () => void;
}

/** An error, with a Retry button if possible. */
export function ErrorBlock({ text, network = false, live = true, onRetry }: ErrorBlockProps) {
  return (
    <div
      role={live ? "alert" : undefined}
      className="flex flex-wrap items-start gap-x-3 gap-y-2 rounded-block border border-bad-line bg-bad-ground px-3 py-2.5 text-block"
    >
      <TriangleAlert aria-hidden className="mt-[3px] size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1 basis-48">
        <p className="font-medium text-bad">
          {network ? strings.parts.requestFailed : strings.parts.error}
        </p>
        <p className="break-words whitespace-pre-wrap">{text}</p>
      </div>
      {onRetry && (
        <Button kind="danger" onClick={onRetry} className="bg-ground">
          <RotateCw aria-hidden className="size-4" />
          {strings.retry}
        </Button>
      )}
    </div>
  );
}
