import type { UIMessage } from "ai";
import { memo } from "react";
import { Actions } from "@/chat/Actions";
import { Replayed } from "@/chat/Replayed";
import { UserMessage } from "@/chat/UserMessage";
import type { MessageActions } from "@/chat/useMessageActions";
import { Parts } from "@/parts/Parts";
import { endingOf } from "@/parts/wire";
import { useReplay } from "@/state/replay";
import { strings } from "@/strings";

interface MessageProps {
  message: UIMessage;
  actions: MessageActions;
  isLast: boolean;
  /** Streaming now. */
  live: boolean;
  /** This page saw it stream: it is not from history. */
  isNew: boolean;
  /** The run waits for the user's answer. */
  waiting: boolean;
  /** No run is active, so the message can be edited or regenerated. */
  free: boolean;
  /** Of the user's message. */
  isLastFromUser: boolean;
  /** It is being edited. */
  isEdited: boolean;
  onEditing: (id: string | undefined) => void;
}

/** One message. Memoised: while one streams, the others do not render again. */
export const Message = memo(function Message(props: MessageProps) {
  if (props.message.role === "user") return <UserMessage {...props} onEdit={props.actions.edit} />;
  return <AgentMessage {...props} />;
});

function AgentMessage({ message, actions, isLast, live, isNew, waiting, free }: MessageProps) {
  const again = isLast && free ? actions.regenerate : undefined;
  const hasFailed = endingOf(message)?.error !== undefined; // its error block has a Retry button
  const replay = useReplay(message.id);
  if (replay) return <Replayed replay={replay} />;
  return (
    <article aria-label={strings.chat.agent} aria-busy={live} className="flex flex-col gap-2">
      <Parts
        message={message}
        live={live}
        isNew={isNew}
        onDecide={actions.decide}
        onAnswer={actions.answer}
        onRetry={again}
      />
      {!live && !waiting && (
        <Actions message={message} isLast={isLast} onRegenerate={hasFailed ? undefined : again} />
      )}
    </article>
  );
}
