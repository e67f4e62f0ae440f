import type { UIMessage } from "ai";
import { ArrowDown, History } from "lucide-react";
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useStickToBottom } from "use-stick-to-bottom";
import type { Fork } from "@/api";
import type { Conversation } from "@/chat/conversation";
import type { ConversationState } from "@/chat/conversationState";
import { FactsProvider } from "@/chat/facts";
import { KeepPlace } from "@/chat/KeepPlace";
import { Message } from "@/chat/Message";
import { useFactsOf } from "@/chat/useFactsOf";
import { useJump } from "@/chat/useJump";
import { type MessageActions, useMessageActions } from "@/chat/useMessageActions";
import { useReleasing } from "@/chat/useReleasing";
import { Parts } from "@/parts/Parts";
import { access } from "@/state/access";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface MessageListProps {
  messages: UIMessage[];
  conversation: Conversation;
  state: ConversationState;
  /** The agent for edited and regenerated messages. */
  agent: string | undefined;
  /** The id of the message being edited: one at a time. */
  editing: string | undefined;
  onEditing: (id: string | undefined) => void;
}

/** A message was sent, and no part of the answer has arrived yet. */
const NOTHING: UIMessage = { id: "", role: "assistant", parts: [] };

/**
 * The messages, in the page's only scroll container. Stays scrolled to the end while an answer streams,
 * until the user scrolls up. Not a live region: screen readers would read every token.
 */
export function MessageList(props: MessageListProps) {
  const { messages, conversation, state, agent } = props;
  const stick = useStickToBottom({ initial: "instant", resize: "instant" });
  const { scrollRef, contentRef, isAtBottom, scrollToBottom, stopScroll } = stick;
  const { readOnly } = useStore(access);
  const scrolling = { scroller: scrollRef, onLeaveEnd: stopScroll };
  const jump = useJump(messages, conversation, state, scrolling);
  const releasing = useReleasing(stopScroll);
  const given = useMessageActions(conversation, agent, state.life, messages);
  const [actions, version] = useVersions(given, conversation, stopScroll);
  useFactsOf(conversation, state.life, messages);
  const last = messages.at(-1);
  const lastUserMessage = messages.findLast(({ role }) => role === "user");
  const isLive = state.life === "working";
  /** The agent has not got the message yet. */
  const isHeld = state.unsent === "message" && state.connection === "lost";
  // A short answer may end before its first render.
  const [awaited, setAwaited] = useState<string>();
  if (isLive && lastUserMessage?.id !== awaited) setAwaited(lastUserMessage?.id);
  const sent = last?.role === "user" ? last.id : undefined;
  useEffect(() => {
    if (sent) void scrollToBottom("instant");
  }, [sent, scrollToBottom]);
  useEditedInSight(props.editing, stopScroll);
  return (
    <FactsProvider value={conversation.facts}>
      <p role="status" className="sr-only">
        {version}
      </p>
      <div
        ref={scrollRef}
        {...releasing}
        role="log"
        aria-live="off"
        aria-label={strings.chat.log}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto focus-visible:outline-offset-[-2px]"
      >
        <div
          ref={contentRef}
          className="mx-auto flex w-full max-w-3xl flex-col gap-4 px-4 pt-4 pb-6"
        >
          {jump.isMissing && (
            <p role="status" className="text-center text-block text-ink-2">
              {strings.sidebar.notThere}
            </p>
          )}
          {jump.marked && (
            <span role="status" className="sr-only">
              {strings.sidebar.jumped}
            </span>
          )}
          <Older conversation={conversation} state={state} scroller={scrollRef} />
          <KeepPlace first={messages[0]?.id} scroller={scrollRef} />
          {messages.map((message) => {
            const isLast = message === last;
            return (
              <div
                key={message.id}
                data-message={message.id}
                data-marked={message.id === jump.marked || undefined}
                className="contents"
              >
                <Message
                  message={message}
                  actions={actions}
                  isLast={isLast}
                  live={isLast && isLive && message.role === "assistant"}
                  doing={isLast ? state.doing : undefined}
                  isNew={isLast && lastUserMessage !== undefined && lastUserMessage.id === awaited}
                  waiting={isLast && state.life === "waiting"}
                  free={state.life === "idle" && !readOnly}
                  isLastFromUser={message === lastUserMessage}
                  isEdited={message.id === props.editing}
                  onEditing={props.onEditing}
                />
              </div>
            );
          })}
          {isLive && last?.role === "user" && !isHeld && (
            <Parts message={NOTHING} live doing={state.doing} />
          )}
        </div>
      </div>
      {!isAtBottom && <ToEnd onClick={() => void scrollToBottom("instant")} />}
    </FactsProvider>
  );
}

/** Choosing a version keeps the place in the list, and is read out. */
function useVersions(
  actions: MessageActions,
  { facts }: Conversation,
  stopScroll: () => void,
): [MessageActions, string] {
  const [announced, announce] = useState("");
  const ours = useMemo(() => {
    const choose = async (runId: string) => {
      stopScroll();
      const isChosen = await actions.choose(runId);
      if (isChosen) announce(shownVersion(facts.state.get().forks.values(), runId));
      return isChosen;
    };
    return { ...actions, choose };
  }, [actions, facts, stopScroll]);
  return [ours, announced];
}

function shownVersion(forks: Iterable<Fork>, runId: string): string {
  for (const { chosen, versions } of forks)
    if (versions[chosen]?.runId === runId)
      return strings.answers.shown(chosen + 1, versions.length);
  return "";
}

/** A message is edited in its place: following the end would push its field out of sight. */
function useEditedInSight(editing: string | undefined, release: () => void): void {
  useLayoutEffect(() => {
    if (editing !== undefined) release();
  }, [editing, release]);
  useEffect(() => {
    if (editing === undefined) return;
    const frame = requestAnimationFrame(() => {
      document.activeElement?.closest("[role=log] article")?.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(frame);
  }, [editing]);
}

/** In its own row, or beside the column where there is room: never over the text. */
function ToEnd({ onClick }: { onClick: () => void }) {
  return (
    <div className="relative mx-auto flex w-full max-w-3xl justify-end px-4 py-1 @4xl:h-0 @4xl:p-0">
      <button
        type="button"
        onClick={onClick}
        aria-label={strings.chat.toEnd}
        title={strings.chat.toEnd}
        className="inline-flex size-9 items-center justify-center rounded-full border bg-ground shadow-md hover:bg-ground-3 max-md:size-11 @4xl:absolute @4xl:bottom-2 @4xl:start-full"
      >
        <ArrowDown aria-hidden className="size-4" />
      </button>
    </div>
  );
}

interface OlderProps {
  conversation: Conversation;
  state: ConversationState;
  scroller: RefObject<HTMLElement | null>;
}

/** Loads older messages on scrolling near the top, or on click. */
function Older({ conversation, state, scroller }: OlderProps) {
  const mark = useRef<HTMLDivElement>(null);
  const { before, loadingOlder } = state;
  useEffect(() => {
    const target = mark.current;
    if (!target || !before) return;
    const near = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && conversation.loadOlder(),
      { root: scroller.current, rootMargin: "300px 0px 0px 0px" },
    );
    // The list is at the top for a moment before it is scrolled to the end.
    const timer = setTimeout(() => near.observe(target), 300);
    return () => {
      clearTimeout(timer);
      near.disconnect();
    };
  }, [before, conversation, scroller]);
  if (!before) return null;
  return (
    <div ref={mark} className="flex min-h-11 items-center justify-center">
      <Button kind="quiet" disabled={loadingOlder} onClick={conversation.loadOlder}>
        <History aria-hidden className="size-4" />
        {loadingOlder ? strings.chat.loadingOlder : strings.chat.older}
      </Button>
    </div>
  );
}
