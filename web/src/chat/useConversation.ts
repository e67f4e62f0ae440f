import { useChat } from "@ai-sdk/react";
import { useEffect, useState } from "react";
import { Conversation } from "@/chat/conversation";
import { useSteady } from "@/chat/steady";
import { chats } from "@/state/chats";
import { useStore } from "@/store";

/** Deltas within this time are rendered together. */
const THROTTLE = 50;

const STATUS = { idle: null, working: "running", waiting: "waiting" } as const;

/** The conversation of a mounted component. Its chat may get its address later. */
export function useConversation(id: string, isNew: boolean, onStarted: () => void) {
  const [conversation] = useState(
    () =>
      new Conversation(id, isNew, {
        onStarted: () => {
          onStarted();
          void chats.refresh();
        },
        onView: chats.open,
        onLife: (life, hasFailed) => {
          chats.mark(id, STATUS[life], hasFailed);
          if (life !== "working") void chats.refresh();
        },
      }),
  );
  useEffect(() => conversation.open(), [conversation]);
  const state = useStore(conversation.state);
  const { messages } = useChat({ chat: conversation.chat, throttle: THROTTLE });
  return { conversation, state, messages: useSteady(messages, state.replaying) };
}
