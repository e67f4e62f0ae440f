import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { address, PROFILE } from "@/api";
import { cutAfter, whole } from "@/chat/broken";

/** The server took what was posted: it is stored, and a run goes on. */
type OnAccepted = (runId: string | undefined) => void;

/** Longer than the server is ever silent (10 s), so that a connection nobody closed is noticed. */
const SILENCE = 30_000;

/**
 * The SDK's own transport, with our addresses. Only the message that is acted on is sent, since the
 * server knows the others; `trigger` and `messageId` say what is done with it, and the caller's body who
 * is to answer. A response that ends
 * without saying that the run ended, or waits, is an error here, as is one that falls silent.
 */
export class MoboxTransport extends DefaultChatTransport<UIMessage> {
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
