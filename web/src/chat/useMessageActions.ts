import type { UIMessage } from "ai";
import { useEffect, useMemo, useRef } from "react";
import type { Conversation } from "@/chat/conversation";
import type { Life } from "@/chat/conversationState";
import { COMPOSER, toComposer } from "@/ui/focus";

const CONTROL = ":is(button, input, textarea, select):not(:disabled)";

export interface MessageActions {
  decide: Conversation["decide"];
  answer: Conversation["answer"];
  edit: (messageId: string, text: string) => void;
  regenerate: () => void;
  choose: Conversation["choose"];
}

/**
 * Message actions with focus handling: the control that was used disappears, so the focus moves to the
 * next question, else to the composer.
 */
export function useMessageActions(
  conversation: Conversation,
  agent: string | undefined,
  life: Life,
  messages: UIMessage[],
): MessageActions {
  const isAnswering = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: either change moves the focus
  useEffect(() => {
    if (!isAnswering.current) return;
    if (life === "idle") isAnswering.current = false;
    if (!isLost()) return;
    if (life !== "waiting") return toComposer();
    const next = firstRequest();
    next?.focus();
    isAnswering.current = next === undefined;
  }, [life, messages]);
  return useMemo(() => {
    const answering =
      <A extends unknown[]>(act: (...args: A) => Promise<void>) =>
      async (...args: A) => {
        const from = document.activeElement;
        isAnswering.current = true;
        try {
          await act(...args);
        } catch (error) {
          isAnswering.current = false;
          requestAnimationFrame(() => from instanceof HTMLElement && from.focus());
          throw error;
        }
      };
    return {
      decide: answering(conversation.decide),
      answer: answering(conversation.answer),
      edit: (messageId, text) => conversation.edit(messageId, text, agent),
      regenerate: () => {
        conversation.regenerate(agent);
        toComposer();
      },
      choose: conversation.choose,
    };
  }, [conversation, agent]);
}

/** Nothing has the focus, or the empty composer that got it from here. */
function isLost(): boolean {
  const at = document.activeElement;
  if (!at || at === document.body || at.matches(":disabled, [role=log]")) return true;
  return at instanceof HTMLTextAreaElement && at.id === COMPOSER && at.value === "";
}

/**
 * The element to focus for a question: its first field, else the whole card. Approve and Deny are never
 * focused automatically: a held key would press them too.
 */
function firstRequest(): HTMLElement | undefined {
  const found = document.querySelectorAll<HTMLElement>(`[role=log] article fieldset ${CONTROL}`);
  const controls = Array.from(found);
  const first = controls.find((control) => !control.matches("button") || control.textContent);
  return first?.matches("button") ? (first.closest("fieldset") ?? undefined) : first;
}
