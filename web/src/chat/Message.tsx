import type { UIMessage } from "ai";
import { memo } from "react";
import { Actions } from "@/chat/Actions";
import { AnswerHead } from "@/chat/AnswerHead";
import { MadeFiles } from "@/chat/MadeFiles";
import { Replayed } from "@/chat/Replayed";
import { UserMessage } from "@/chat/UserMessage";
import type { MessageActions } from "@/chat/useMessageActions";
import { Parts } from "@/parts/Parts";
import { endingOf } from "@/parts/wire";
import { access } from "@/state/access";
import { useReplay } from "@/state/replay";
import { useStore } from "@/store";
import { strings } from "@/strings";

interface MessageProps {
  message: UIMessage;
  actions: MessageActions;
  isLast: boolean;
  /** Streaming now. */
  live: boolean;
  /** What the server does before the agent starts. */
  doing?: string;
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
  if (props.message.role === "user") {
    const { edit, choose } = props.actions;
    return <UserMessage {...props} onEdit={edit} onChoose={choose} />;
  }
  return <AgentMessage {...props} />;
});

function AgentMessage(props: MessageProps) {
  const { message, actions, isLast, live, doing, isNew, waiting, free } = props;
  const { readOnly } = useStore(access);
  const again = isLast && free ? actions.regenerate : undefined;
  const hasFailed = endingOf(message)?.error !== undefined; // its error block has a Retry button
  const replay = useReplay(message.id);
  if (replay) return <Replayed replay={replay} />;
  return (
    <article
      aria-label={strings.chat.agent}
      aria-busy={live}
      className="group/answer flex flex-col gap-2"
    >
      <AnswerHead runId={message.id} />
      <Parts
        message={message}
        live={live}
        doing={doing}
        isNew={isNew}
        onDecide={readOnly ? undefined : actions.decide}
        onAnswer={readOnly ? undefined : actions.answer}
        onRetry={again}
      />
      {!live && !waiting && <MadeFiles message={message} />}
      {!live && !waiting && (
        <Actions
          message={message}
          isLast={isLast}
          free={free}
          onRegenerate={hasFailed ? undefined : again}
          onChoose={actions.choose}
        />
      )}
    </article>
  );
}
