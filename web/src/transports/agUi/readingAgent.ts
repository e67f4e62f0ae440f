import { HttpAgent } from "@ag-ui/client";
import { map } from "rxjs";
import type { Event } from "@/transports/agUi/names";

export type Resume = NonNullable<NonNullable<Parameters<HttpAgent["runAgent"]>[0]>["resume"]>;
export type InitialMessages = ConstructorParameters<typeof HttpAgent>[0]["initialMessages"];

export interface Question {
  url: string;
  threadId: string;
  headers?: Record<string, string>;
  /** The new messages; the server has the earlier ones. */
  messages?: InitialMessages;
  /** The id by which the server recognizes a retried request. */
  runId: string;
  resume?: Resume;
  forwardedProps?: Record<string, unknown>;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  abort: AbortController;
}

/**
 * The AG-UI client: sends requests and validates events as they arrive. We skip its own message state,
 * which the page does not use.
 */
class ReadingAgent extends HttpAgent {
  onEvent: (event: Event) => void = () => {};

  protected override apply(
    _input: unknown,
    events: Parameters<HttpAgent["apply"]>[1],
  ): ReturnType<HttpAgent["apply"]> {
    return events.pipe(
      map((event) => {
        this.onEvent(event as unknown as Event);
        return {};
      }),
    );
  }
}

/** Sends the request and passes on each event until the response ends; throws on failure. */
export async function ask(question: Question, onEvent: (event: Event) => void): Promise<void> {
  const { url, threadId, headers, messages, fetch, abort, ...parameters } = question;
  const agent = new ReadingAgent({ url, threadId, headers, initialMessages: messages, fetch });
  agent.onEvent = onEvent;
  let failure: { error: unknown } | undefined;
  await agent.runAgent(
    { ...parameters, abortController: abort },
    {
      onRunFailed: ({ error }) => {
        failure = { error };
        return { stopPropagation: true } as object; // otherwise the client logs it to the console
      },
    },
  );
  if (failure) throw failure.error;
}
