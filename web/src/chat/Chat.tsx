import { X } from "lucide-react";
import { useEffect, useState } from "react";
import type { NamedChat } from "@/api";
import { AgentPicker } from "@/chat/AgentPicker";
import { Announcer } from "@/chat/Announcer";
import { Banner, Unloaded } from "@/chat/Banner";
import { Composer } from "@/chat/Composer";
import { DropHint } from "@/chat/composer/DropHint";
import { Queue } from "@/chat/composer/Queue";
import { useDrop } from "@/chat/composer/useDrop";
import type { ConversationState } from "@/chat/conversationState";
import { Starters, startersOf, Welcome } from "@/chat/Empty";
import { wholeOf } from "@/chat/exporting";
import { Header } from "@/chat/Header";
import { MessageList } from "@/chat/MessageList";
import { NotifyOffer } from "@/chat/NotifyOffer";
import { whyHeld } from "@/chat/queueing";
import { useAgentChoice } from "@/chat/useAgentChoice";
import { useConversation } from "@/chat/useConversation";
import { useNoticed } from "@/chat/useNoticed";
import { SidePanel } from "@/panel/SidePanel";
import { useShownRun } from "@/panel/useShownRun";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { endingOf } from "@/parts/wire";
import type { Attachment } from "@/state/attachments";
import { chats } from "@/state/chats";
import { drafts } from "@/state/drafts";
import { type Queued, queue, useEdited } from "@/state/queue";
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
  onShare: (chat: NamedChat) => void;
  onDelete: (chat: NamedChat) => void;
}

/** One chat: header, messages and composer. */
export function Chat(props: ChatProps) {
  const { id, isNew, onStarted, onNew, onOpenChats, onRename, onPermissions, onDelete } = props;
  const { onShare } = props;
  const { conversation, state, messages } = useConversation(id, isNew, onStarted);
  const choice = useAgentChoice(state.agent);
  const [editing, setEditing] = useState<string>();
  const { phase, life } = state;
  const { made } = useStore(conversation.facts.state);
  const shown = useShownRun(messages, made.length > 0);
  const named = useTitle(id, phase);
  const title = named ?? UNTITLED[phase];
  useNoticed({
    chat: id,
    title: named,
    life,
    ending: () => endingOf(conversation.chat.lastMessage),
  });
  const isEmpty = phase === "ready" && messages.length === 0;
  const isHere = phase === "ready" || phase === "loading";
  useStopByKey(life !== "idle", conversation.stop);
  const { isOver, handlers } = useDrop(state.draft, phase === "ready");
  const edited = useEdited();
  const takeBack = ({ text, files }: Queued) => drafts.restore(state.draft, text, files);
  const editLast = () => {
    const queued = queue.get(id).at(-1);
    const last = messages.findLast((message) => message.role === "user");
    if (queued) queue.edit(queued.id);
    else if (last && life === "idle") setEditing(last.id);
  };
  const agent = choice.next?.id;
  const send = (text: string, files: Attachment[] = []) => conversation.send(text, agent, files);
  const enqueue = (text: string, files: Attachment[]) => {
    queue.add(id, { text, files, agent });
    drafts.clear(state.draft);
  };
  return (
    <>
      <main {...handlers} className="@container relative flex h-full min-w-0 flex-1 flex-col">
        {isOver && <DropHint />}
        <Header
          title={title}
          isStored={phase === "ready" && !isEmpty}
          choice={choice}
          facts={conversation.facts}
          whole={() => wholeOf(id, title, conversation.chat.messages)}
          onRename={() => onRename({ id, title })}
          onPermissions={() => onPermissions({ id, title })}
          onShare={() => onShare({ id, title })}
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
            {isEmpty && <Welcome agent={choice.next} isOnlyDemo={choice.isOnlyDemo} />}
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
              <NotifyOffer life={life} />
              <Queue
                chat={id}
                note={whyHeld(state, messages.at(-1), queue.get(id)[0]?.id === edited)}
                isBusy={state.unsent !== undefined}
                onSend={(queued) => void conversation.sendQueued(queued)}
                onTakeBack={takeBack}
                onEdited={conversation.sendNext}
              />
              <Composer
                draft={state.draft}
                life={life}
                stopping={state.stopping}
                takenBack={state.takenBack}
                disabled={phase !== "ready"}
                isFirst={isEmpty}
                slash={{ agents: choice.known, starters: startersOf(choice.next) }}
                onSend={send}
                onQueue={enqueue}
                onStop={conversation.stop}
                onEditLast={editLast}
                onAgent={choice.pick}
              >
                <AgentPicker choice={choice} isNamed={isEmpty} />
              </Composer>
            </div>
            {isEmpty && <Starters agent={choice.next} onChoose={send} />}
          </div>
        )}
      </main>
      <SidePanel {...shown} chatId={id} isWorking={life !== "idle"} />
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

function useTitle(id: string, phase: ConversationState["phase"]): string | undefined {
  useStore(chats.state);
  return phase === "missing" ? strings.chat.missing : chats.titleOf(id);
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
