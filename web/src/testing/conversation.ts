import { renderHook } from "@testing-library/react";
import type { UIMessage } from "ai";
import { expect, onTestFinished } from "vitest";
import { Conversation } from "@/chat/conversation";
import { useDraft } from "@/state/drafts";
import { ENDS, Stream, textChunks } from "@/testing/server";
import { until } from "@/testing/waiting";

/** Opens a chat as the page does, until the end of the test. */
export function open(isNew = false, hooks: { onStarted?: () => void } = {}): Conversation {
  const conversation = new Conversation("c1", isNew, {
    onStarted: hooks.onStarted ?? (() => {}),
    onView: () => {},
    onLife: () => {},
  });
  ways.set(conversation, conversation.open());
  onTestFinished(() => leave(conversation));
  return conversation;
}

const ways = new Map<Conversation, () => void>();

/** Closes it as the page does. */
export const leave = (conversation: Conversation) => ways.get(conversation)?.();

/** The draft of a chat. */
export const draftOf = (chat: string) => renderHook(() => useDraft(chat)).result.current[0];

const textOf = (message: UIMessage) =>
  message.parts.map((part) => ("text" in part ? part.text : part.type)).join("");
export const texts = ({ chat: { messages } }: Conversation) => messages.map(textOf);
export const life = (conversation: Conversation) => conversation.state.get().life;
export const whenIdle = (conversation: Conversation) =>
  until(() => expect(life(conversation)).toBe("idle"));

export const answers = (text: string) => () =>
  new Stream().send(...textChunks(text), ...ENDS).end();
export const running = { activeRun: { id: "run_1", status: "running", agent: "demo" } };
export const waiting = { activeRun: { id: "run_1", status: "waiting", agent: "demo" } };
