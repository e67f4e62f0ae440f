import type { UIMessage } from "ai";
import { LoaderCircle } from "lucide-react";
import { memo } from "react";
import { Actions } from "@/chat/Actions";
import type { Conversation } from "@/chat/conversation";
import { UserMessage } from "@/chat/UserMessage";
import { Parts } from "@/parts/Parts";
import { strings } from "@/strings";

interface MessageProps {
  message: UIMessage;
  conversation: Conversation;
  isLast: boolean;
  /** It is being written now. */
  live: boolean;
  /** The run waits for the person. */
  waiting: boolean;
  /** Nothing else is being done, so that this may be changed. */
  free: boolean;
}

/** One message of the chat. Memoised: while one is being written, the others are left alone. */
export const Message = memo(function Message(props: MessageProps) {
  const { message, conversation, free } = props;
  if (message.role === "user") {
    return <UserMessage message={message} free={free} onEdit={conversation.edit} />;
  }
  return <AgentMessage {...props} />;
});

function AgentMessage({ message, conversation, isLast, live, waiting, free }: MessageProps) {
  const regenerate = isLast && free ? conversation.regenerate : undefined;
  return (
    <article aria-label={strings.chat.agent} aria-busy={live} className="flex flex-col gap-2">
      <Parts
        message={message}
        live={live}
        onDecide={conversation.decide}
        onAnswer={conversation.answer}
        onRetry={regenerate}
      />
      {!live && !waiting && <Actions message={message} onRegenerate={regenerate} />}
    </article>
  );
}

/** The agent was asked, and nothing of its answer is there yet. */
export function Working() {
  return (
    <p className="flex min-h-10 items-center gap-2 text-block text-ink-2">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      {strings.chat.waitingForAgent}
    </p>
  );
}
