import { DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { address, PROFILE, sendAnswer, stopRun, streamPath } from "@/api";
import { fetchWithKey } from "@/key";
import { SILENCE } from "@/runs/backoff";
import { bodyOf } from "@/transports/body";
import { cutAfter, whole } from "@/transports/broken";
import type { OnAccepted, Transport } from "@/transports/transport";

/** Errors with their code: without it, this route answers with a sentence alone. */
const WANTS_JSON = { accept: "text/event-stream, application/json" };

/** The SDK's own transport, with our URLs. */
export class AiSdkTransport extends DefaultChatTransport<UIMessage> implements Transport {
  override readonly resumeStreamIsReplay = true;
  readonly stop = stopRun;
  readonly answer = sendAnswer;

  constructor(onAccepted: OnAccepted) {
    super({
      api: address("api/chat", { profile: PROFILE }),
      headers: WANTS_JSON,
      fetch: (input, init) => accepted(fetchWithKey(input, init), init?.method, onAccepted),
      prepareSendMessagesRequest: ({ id, headers, ...sending }) => ({
        headers,
        body: { ...bodyOf(sending), id },
      }),
      prepareReconnectToStreamRequest: ({ id }) => ({
        api: address(streamPath(id), { profile: PROFILE }),
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

async function accepted(
  request: Promise<Response>,
  method: string | undefined,
  onAccepted: OnAccepted,
): Promise<Response> {
  const response = await request;
  if (response.ok && method === "POST") {
    onAccepted(response.headers.get("x-mobox-run") ?? undefined);
  }
  return response;
}
