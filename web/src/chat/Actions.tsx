import type { UIMessage } from "ai";
import { RefreshCw } from "lucide-react";
import { CopyButton } from "@/content/CopyButton";
import { ShowInPanel } from "@/panel/ShowInPanel";
import { plainText } from "@/parts/exportText";
import { Usage } from "@/parts/Usage";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface ActionsProps {
  message: UIMessage;
  isLast: boolean;
  onRegenerate?: () => void;
}

const hasText = ({ parts }: UIMessage) => parts.some((part) => part.type === "text" && part.text);

/** Buttons below an answer, and its token usage. */
export function Actions({ message, isLast, onRegenerate }: ActionsProps) {
  return (
    <div className="-ml-2 flex min-h-9 flex-wrap items-center gap-x-1">
      {hasText(message) && (
        <CopyButton text={() => plainText(message)} className="size-9 [&_svg]:size-4" />
      )}
      {onRegenerate && (
        <IconButton label={strings.chat.regenerate} onClick={onRegenerate}>
          <RefreshCw aria-hidden />
        </IconButton>
      )}
      <ShowInPanel runId={isLast ? undefined : message.id} />
      <div className="ml-auto pl-2 text-mono text-ink-2 tabular-nums">
        <Usage message={message} />
      </div>
    </div>
  );
}
