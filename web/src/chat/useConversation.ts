import { useChat } from "@ai-sdk/react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Conversation } from "@/chat/conversation";
import { useSteady } from "@/chat/steady";
import { chats } from "@/state/chats";
import { useStore } from "@/state/store";

/** A burst of deltas is one rendering. */
const THROTTLE = 50;

const STATUS = { idle: null, working: "running", waiting: "waiting" } as const;

interface Options {
  isNew: boolean;
  /** Who is to answer next. */
  agent: () => string | undefined;
  /** The first turn was taken: the chat has an address now. */
  onBegun: () => void;
}

/** A chat for as long as it is on the page; one component, one chat. */
export function useConversation(id: string, options: Options) {
  const latest = useRef(options);
  useLayoutEffect(() => {
    latest.current = options;
  });
  const [conversation] = useState(
    () =>
      new Conversation(id, options.isNew, {
        agent: () => latest.current.agent(),
        onBegun: () => {
          latest.current.onBegun();
          void chats.refresh();
        },
        onView: chats.open,
        onLife: (life) => {
          chats.mark(id, STATUS[life]);
          if (life !== "working") void chats.refresh();
        },
      }),
  );
  useEffect(() => conversation.open(), [conversation]);
  const state = useStore(conversation.state);
  const { messages } = useChat({ chat: conversation.chat, throttle: THROTTLE });
  return { conversation, state, messages: useSteady(messages, state.replaying) };
}
