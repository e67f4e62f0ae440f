import type { UIMessage } from "ai";
import { type RefObject, useEffect, useRef, useState } from "react";
import type { Conversation } from "@/chat/conversation";
import type { ConversationState } from "@/chat/conversationState";
import { useRoute } from "@/state/route";

/** Pages of older messages that are loaded to find a message. */
const MOST_PAGES = 200;
/** How long a message is marked, in ms. */
const MARKED = 4_000;

interface Jump {
  /** The message that the address names, for a moment after it was scrolled to. */
  marked?: string;
  /** The address names a message that is not in this chat. */
  isMissing: boolean;
}

interface Scrolling {
  scroller: RefObject<HTMLElement | null>;
  /** Does not follow the end of the list any more. */
  onLeaveEnd: () => void;
}

/** Scrolls to the message that the address names (`?message=`), and loads older ones until it is there. */
export function useJump(
  messages: UIMessage[],
  conversation: Conversation,
  { before, loadingOlder }: ConversationState,
  { scroller, onLeaveEnd }: Scrolling,
): Jump {
  const route = useRoute();
  const wanted = route.page === "chat" ? route.message : undefined;
  const [marked, setMarked] = useState<string>();
  const done = useRef<object>(undefined);
  const pages = useRef(0);
  const isThere = messages.some(({ id }) => id === wanted);
  const mayCome = Boolean(before) && pages.current < MOST_PAGES;

  useEffect(() => {
    if (!wanted || done.current === route) return;
    if (isThere) {
      done.current = route;
      pages.current = 0;
      onLeaveEnd();
      // The list scrolls to its end after its first render.
      requestAnimationFrame(() => requestAnimationFrame(() => show(scroller.current, wanted)));
      setMarked(wanted);
    } else if (mayCome && !loadingOlder) {
      pages.current += 1;
      void conversation.loadOlder();
    }
  }, [wanted, route, isThere, mayCome, loadingOlder, conversation, scroller, onLeaveEnd]);
  useEffect(() => {
    if (!marked) return;
    const timer = setTimeout(() => setMarked(undefined), MARKED);
    return () => clearTimeout(timer);
  }, [marked]);
  return { marked, isMissing: Boolean(wanted) && !isThere && !mayCome };
}

function show(list: HTMLElement | null, id: string): void {
  const message = list?.querySelector(`[data-message="${CSS.escape(id)}"]`)?.firstElementChild;
  if (!(message instanceof HTMLElement)) return;
  message.scrollIntoView({ block: "start" });
  message.tabIndex = -1;
  message.focus({ preventScroll: true });
}
