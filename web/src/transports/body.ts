import type { UIMessage } from "ai";
import type { Sending } from "@/transports/transport";

/**
 * What is sent of a chat: the message that is acted on, since the server knows the others; `trigger` and
 * `messageId` say what is done with it, and the caller's own fields who is to answer.
 */
export function bodyOf({
  messages,
  trigger,
  messageId,
  body,
}: Pick<Sending, "messages" | "trigger" | "messageId" | "body">): Record<string, unknown> {
  return {
    ...body,
    trigger,
    ...(messageId !== undefined && { messageId }),
    message: messages.find((each) => isContinued(each, messageId)) ?? messages.at(-1),
  };
}

const isContinued = (message: UIMessage, messageId: string | undefined) =>
  message.id === messageId && message.role === "assistant";

/** The message whose run goes on with what is sent, if it is one. */
export function continuedBy({ messages, trigger, messageId }: Sending): UIMessage | undefined {
  const named = messages.find(({ id }) => id === messageId) ?? messages.at(-1);
  return trigger === "submit-message" && named?.role === "assistant" ? named : undefined;
}

/** The name by which the server knows what comes again. */
export const keyOf = ({ headers }: Pick<Sending, "headers">): string | undefined =>
  new Headers(headers).get("idempotency-key") ?? undefined;
