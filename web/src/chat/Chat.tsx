import { X } from "lucide-react";
import { useEffect, useState } from "react";
import type { NamedChat } from "@/api";
import { AgentPicker } from "@/chat/AgentPicker";
import { Announcer } from "@/chat/Announcer";
import { Banner, Unloaded } from "@/chat/Banner";
import { Composer } from "@/chat/Composer";
import type { ConversationState } from "@/chat/conversationState";
import { Prompts, Welcome } from "@/chat/Empty";
import { wholeOf } from "@/chat/exporting";
import { Header } from "@/chat/Header";
import { MessageList } from "@/chat/MessageList";
import { useAgentChoice } from "@/chat/useAgentChoice";
import { useConversation } from "@/chat/useConversation";
import { SidePanel } from "@/panel/SidePanel";
import { useShownRun } from "@/panel/useShownRun";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { endingOf } from "@/parts/wire";
import { chats } from "@/state/chats";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { isOtherField } from "@/ui/focus";
import { Notice } from "@/ui/Notice";

interface ChatProps {
  id: string;
  isNew: boolean;
  onStarted: () => void;
  onNew: () => void;
  onOpenChats: () => void;
  onRename: (chat: NamedChat) => void;
  onPermissions: (chat: NamedChat) => void;
  onDelete: (chat: NamedChat) => void;
}

/** One chat: header, messages and composer. */
export function Chat(props: ChatProps) {
  const { id, isNew, onStarted, onNew, onOpenChats, onRename, onPermissions, onDelete } = props;
  const { conversation, state, messages } = useConversation(id, isNew, onStarted);
  const choice = useAgentChoice(state.agent);
  const [editing, setEditing] = useState<string>();
  const { phase, life } = state;
  const shown = useShownRun(messages);
  const title = useTitle(id, phase);
  const isEmpty = phase === "ready" && messages.length === 0;
  const isHere = phase === "ready" || phase === "loading";
  useStopByKey(life !== "idle", conversation.stop);
  const editLast = () => {
    const last = messages.findLast((message) => message.role === "user");
    if (last) setEditing(last.id);
  };
  const send = (text: string, chosen?: string) => {
    if (chosen) choice.pick(chosen);
    conversation.send(text, chosen ?? choice.next?.id);
  };
  return (
    <>
      <main className="@container flex h-full min-w-0 flex-1 flex-col">
        <Header
          title={title}
          isStored={phase === "ready" && !isEmpty}
          choice={choice}
          whole={() => wholeOf(id, title, conversation.chat.messages)}
          onRename={() => onRename({ id, title })}
          onPermissions={() => onPermissions({ id, title })}
          onDelete={() => onDelete({ id, title })}
          onOpenChats={onOpenChats}
        />
        <Banner state={state} />
        <Announcer life={life} ending={endingOf(messages.at(-1))} />
        {phase === "missing" && (
          <Notice title={strings.chat.missingTitle} line={strings.chat.missingLine}>
            <Button onClick={onNew}>{strings.chat.missingBack}</Button>
          </Notice>
        )}
        {phase === "unreadable" && (
          <Notice title={strings.chat.unreadableTitle} line={state.refused?.message ?? ""}>
            <Button onClick={conversation.reload}>{strings.retry}</Button>
          </Notice>
        )}
        {isHere && (
          <div
            className={classes(
              "flex min-h-0 flex-1 flex-col",
              isEmpty && "overflow-y-auto md:justify-center md:pb-[12dvh]",
            )}
          >
            {phase === "loading" && (
              <Unloaded>
                <Loading />
              </Unloaded>
            )}
            {isEmpty && <Welcome agent={choice.next} />}
            {phase === "ready" && !isEmpty && (
              <MessageList
                messages={messages}
                conversation={conversation}
                state={state}
                agent={choice.next?.id}
                editing={editing}
                onEditing={setEditing}
              />
            )}
            <div
              className={classes(
                "mx-auto flex w-full max-w-3xl flex-col gap-2 px-4 pt-1 pb-[max(1rem,env(safe-area-inset-bottom))]",
                isEmpty && "max-md:order-last md:pb-0",
              )}
            >
              {state.refused && (
                <Complaint refused={state.refused} onDismiss={conversation.dismiss} />
              )}
              <Composer
                draft={state.draft}
                agent={choice.next?.name ?? strings.chat.agent}
                life={life}
                stopping={state.stopping}
                takenBack={state.takenBack}
                disabled={phase !== "ready"}
                onSend={send}
                onStop={conversation.stop}
                onEditLast={editLast}
              >
                <AgentPicker choice={choice} />
              </Composer>
            </div>
            {isEmpty && <Prompts agent={choice.next} hasDemo={choice.hasDemo} onChoose={send} />}
          </div>
        )}
      </main>
      <SidePanel {...shown} />
    </>
  );
}

/** The heading of a chat without a title. */
const UNTITLED = {
  loading: strings.chat.loading,
  ready: strings.chat.newChat,
  missing: strings.chat.missing,
  unreadable: strings.chat.unreadableTitle,
};

function useTitle(id: string, phase: ConversationState["phase"]): string {
  useStore(chats.state);
  const title = phase === "missing" ? strings.chat.missing : chats.titleOf(id);
  useEffect(() => {
    document.title = title ? `${title} · ${strings.product}` : strings.product;
  }, [title]);
  return title ?? UNTITLED[phase];
}

/** Escape stops the agent, unless it closed a menu or dialog, or was pressed in a field. */
function useStopByKey(active: boolean, stop: () => void): void {
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      const isTaken = event.defaultPrevented || event.isComposing || isOtherField(event.target);
      if (event.key === "Escape" && !isTaken) stop();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [active, stop]);
}

interface ComplaintProps {
  refused: NonNullable<ConversationState["refused"]>;
  onDismiss: () => void;
}

/**
 * A refused request, until it is retried or dismissed. Shown by the composer, not among the messages:
 * they render with a delay, and buttons must not move meanwhile.
 */
const Complaint = ({ refused, onDismiss }: ComplaintProps) => (
  <div className="flex items-start gap-1">
    <div className="min-w-0 flex-1">
      <ErrorBlock network text={refused.message} onRetry={refused.again} />
    </div>
    <IconButton label={strings.chat.dismiss} onClick={onDismiss}>
      <X aria-hidden />
    </IconButton>
  </div>
);

const Loading = () => (
  <div role="status" className="mx-auto w-full max-w-3xl flex-1 px-4 pt-6">
    <span className="sr-only">{strings.chat.loading}</span>
    <div aria-hidden className="flex animate-shimmer flex-col gap-4">
      <div className="h-10 w-1/3 self-end rounded-large bg-ground-3" />
      <div className="h-4 w-3/4 rounded-small bg-ground-3" />
      <div className="h-4 w-2/3 rounded-small bg-ground-3" />
    </div>
  </div>
);
