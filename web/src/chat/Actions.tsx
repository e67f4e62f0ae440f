import type { UIMessage } from "ai";
import { Check, Copy, RefreshCw } from "lucide-react";
import { useCopy } from "@/chat/clipboard";
import { plainText } from "@/parts/exportText";
import { Usage } from "@/parts/Usage";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface ActionsProps {
  message: UIMessage;
  onRegenerate?: () => void;
}

/** What can be done with an answer, and what it cost. */
export function Actions({ message, onRegenerate }: ActionsProps) {
  const [copied, copy] = useCopy();
  const text = plainText(message);
  return (
    <div className="-ml-2 flex min-h-9 flex-wrap items-center gap-x-1">
      {text && (
        <IconButton
          label={copied ? strings.chat.copied : strings.chat.copy}
          onClick={() => copy(text)}
        >
          {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
        </IconButton>
      )}
      {onRegenerate && (
        <IconButton label={strings.chat.regenerate} onClick={onRegenerate}>
          <RefreshCw aria-hidden />
        </IconButton>
      )}
      <div className="ml-auto pl-2 text-mono text-ink-2 tabular-nums">
        <Usage message={message} />
      </div>
    </div>
  );
}
