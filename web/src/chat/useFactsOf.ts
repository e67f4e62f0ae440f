import type { UIMessage } from "ai";
import { useEffect } from "react";
import type { Conversation } from "@/chat/conversation";
import type { Life } from "@/chat/conversationState";
import { access } from "@/state/access";
import { useStore } from "@/store";

/** Reads what is known about the answers of one's own chat again when there are others, and when a run ends. */
export function useFactsOf({ facts }: Conversation, life: Life, messages: UIMessage[]): void {
  const shown = messages.filter(({ role }) => role === "assistant").map(({ id }) => id);
  const answers = shown.join(" ");
  const { readOnly } = useStore(access);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end of a run changes its facts
  useEffect(() => {
    if (answers && !readOnly) void facts.load();
  }, [facts, answers, life, readOnly]);
}
