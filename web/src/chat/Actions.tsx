import type { UIMessage } from "ai";
import { RefreshCw } from "lucide-react";
import { isHidden } from "@/brand";
import { AnswerUsage } from "@/chat/AnswerUsage";
import { BranchSwitch } from "@/chat/BranchSwitch";
import { FeedbackButtons, FeedbackMore, useFeedbackOf } from "@/chat/FeedbackButtons";
import type { MessageActions } from "@/chat/useMessageActions";
import { CopyButton } from "@/content/CopyButton";
import { ShowInPanel } from "@/panel/ShowInPanel";
import { plainText } from "@/parts/exportText";
import { access } from "@/state/access";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface ActionsProps {
  message: UIMessage;
  isLast: boolean;
  /** No run is active, so another version can be chosen. */
  free: boolean;
  onChoose: MessageActions["choose"];
  onRegenerate?: () => void;
}

const hasText = ({ parts }: UIMessage) => parts.some((part) => part.type === "text" && part.text);

/** Buttons below an answer, and its token usage. */
export function Actions({ message, isLast, free, onChoose, onRegenerate }: ActionsProps) {
  const feedback = useFeedbackOf(message.id);
  const { readOnly, inspects } = useStore(access);
  return (
    <>
      <div className="-ms-2 flex min-h-9 flex-wrap items-center gap-x-1 max-md:gap-x-0">
        {!readOnly && <BranchSwitch messageId={message.id} free={free} onChoose={onChoose} />}
        {hasText(message) && (
          <CopyButton text={() => plainText(message)} className="size-9 [&_svg]:size-4" />
        )}
        {onRegenerate && (
          <IconButton label={strings.chat.regenerate} onClick={onRegenerate}>
            <RefreshCw aria-hidden />
          </IconButton>
        )}
        {!readOnly && !isHidden("feedback") && <FeedbackButtons state={feedback} />}
        {inspects && <ShowInPanel runId={isLast ? undefined : message.id} />}
        <div className="ms-auto">
          <AnswerUsage message={message} />
        </div>
      </div>
      <FeedbackMore state={feedback} />
    </>
  );
}
