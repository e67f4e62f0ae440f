import { useChat } from "@ai-sdk/react";
import { useEffect, useState } from "react";
import { getSharedState, type SharedView } from "@/api";
import { Conversation } from "@/chat/conversation";
import { useSteady } from "@/chat/steady";
import { newId } from "@/ids";
import { Store, useStore } from "@/store";

/** Deltas within this time are rendered together. */
const THROTTLE = 50;
/** How often to look for another turn while nothing streams, in ms. */
const EVERY = 5_000;

const begin = () => {
  const view = new Store<{ now?: SharedView }>({});
  const conversation = new Conversation(newId(), false, {
    onStarted: () => {},
    onView: (now) => view.set({ now: now as SharedView }),
    onLife: () => {},
  });
  return { view, conversation };
};

/** The chat of the page's link. A new turn of its owner appears by itself. */
export function useSharedChat() {
  const [{ view, conversation }] = useState(begin);
  useEffect(() => conversation.open(), [conversation]);
  const state = useStore(conversation.state);
  const { now } = useStore(view);
  const { messages } = useChat({ chat: conversation.chat, throttle: THROTTLE });
  const isIdle = state.phase === "ready" && state.life !== "working";
  useEffect(() => (isIdle ? watch(view, conversation) : undefined), [isIdle, view, conversation]);
  return { conversation, state, view: now, messages: useSteady(messages, state.replaying) };
}

/** Reads the chat again when it has changed, or when its link does not work any more. */
function watch(view: Store<{ now?: SharedView }>, conversation: Conversation): () => void {
  const look = async () => {
    if (document.visibilityState !== "visible") return;
    const known = view.get().now;
    const isSame = await getSharedState()
      .then(({ updatedAt, activeRun }) => {
        return updatedAt === known?.updatedAt && activeRun?.id === known?.activeRun?.id;
      })
      .catch(({ status }) => status !== 404);
    if (!isSame) conversation.refresh();
  };
  const timer = setInterval(() => void look(), EVERY);
  return () => clearInterval(timer);
}
