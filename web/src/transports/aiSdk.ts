import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { type Answer, address, PROFILE, sendAnswer, stopRun } from "@/api";
import { cutAfter, SILENCE, whole } from "@/transports/broken";
import type { OnAccepted, Transport } from "@/transports/transport";

/**
 * The SDK's own transport, with our addresses. Only the message that is acted on is sent, since the
 * server knows the others; `trigger` and `messageId` say what is done with it, and the caller's body who
 * is to answer.
 */
export class AiSdkTransport extends DefaultChatTransport<UIMessage> implements Transport {
  override readonly resumeStreamIsReplay = true;
  readonly stop = stopRun;
  readonly answer = (chatId: string, answer: Answer) => sendAnswer(chatId, answer);

  constructor(onAccepted: OnAccepted) {
    super({
      api: address("api/chat", { profile: PROFILE }),
      fetch: (input, init) => accepted(fetch(input, init), init?.method, onAccepted),
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId, headers, body }) => ({
        headers,
        body: {
          ...body,
          id,
          trigger,
          ...(messageId !== undefined && { messageId }),
          message: messages.find((each) => isContinued(each, messageId)) ?? messages.at(-1),
        },
      }),
      prepareReconnectToStreamRequest: ({ id }) => ({
        api: address(`api/chat/${encodeURIComponent(id)}/stream`, { profile: PROFILE }),
      }),
    });
  }

  close(): void {}

  protected override processResponseStream(
    stream: ReadableStream<Uint8Array<ArrayBufferLike>>,
  ): ReadableStream<UIMessageChunk> {
    return whole(super.processResponseStream(cutAfter(SILENCE, stream)));
  }
}

const isContinued = (message: UIMessage, messageId: string | undefined) =>
  message.id === messageId && message.role === "assistant";

async function accepted(
  asked: Promise<Response>,
  method: string | undefined,
  onAccepted: OnAccepted,
): Promise<Response> {
  const response = await asked;
  if (response.ok && method === "POST") {
    onAccepted(response.headers.get("x-mobox-run") ?? undefined);
  }
  return response;
}
