import { TriangleAlert, X } from "lucide-react";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";

interface ErrorBlockProps {
  title: string;
  message: string;
  onRetry?: () => void;
  onDismiss?: () => void;
}

/** What went wrong, in the words of who knows, and the way on. */
export function ErrorBlock({ title, message, onRetry, onDismiss }: ErrorBlockProps) {
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-block border border-bad-line bg-bad-ground px-3 py-2 text-block"
    >
      <TriangleAlert aria-hidden className="size-4 shrink-0 text-bad" />
      <p className="min-w-0 flex-1 basis-48 break-words">
        <strong className="font-semibold text-bad">{title}</strong>
        <span className="block">{message}</span>
      </p>
      {onRetry && (
        <Button kind="danger" onClick={onRetry}>
          {strings.chat.retry}
        </Button>
      )}
      {onDismiss && (
        <IconButton label={strings.chat.dismiss} onClick={onDismiss}>
          <X aria-hidden />
        </IconButton>
      )}
    </div>
  );
}
