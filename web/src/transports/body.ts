import type { UIMessage } from "ai";
import type { Sending } from "@/transports/transport";

/**
 * The request body: only the affected message, since the server has the others; `trigger` and
 * `messageId` for the action; the caller's fields for the agent.
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

/** The message whose run this request resumes, if any. */
export function continuedBy({ messages, trigger, messageId }: Sending): UIMessage | undefined {
  const named = messages.find(({ id }) => id === messageId) ?? messages.at(-1);
  return trigger === "submit-message" && named?.role === "assistant" ? named : undefined;
}

/** The idempotency key. */
export const keyOf = ({ headers }: Pick<Sending, "headers">): string | undefined =>
  new Headers(headers).get("idempotency-key") ?? undefined;
