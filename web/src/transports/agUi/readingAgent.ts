import { HttpAgent } from "@ag-ui/client";
import { map } from "rxjs";
import type { Event } from "@/transports/agUi/names";

export type Resume = NonNullable<NonNullable<Parameters<HttpAgent["runAgent"]>[0]>["resume"]>;
export type Said = ConstructorParameters<typeof HttpAgent>[0]["initialMessages"];

export interface Question {
  url: string;
  threadId: string;
  headers?: Record<string, string>;
  /** What the person says; the server knows what was said before. */
  messages?: Said;
  /** By which the server knows a question that comes again. */
  runId: string;
  resume?: Resume;
  forwardedProps?: Record<string, unknown>;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  abort: AbortController;
}

/**
 * The client of AG-UI, which asks, checks and tells events as they come. Only what it makes of them is
 * ours: not messages of its own kind, which nobody here would look at.
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

/** Asks, and hands on each event until the response ends; what goes wrong is thrown. */
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
        return { stopPropagation: true } as object; // else it is also written to the console
      },
    },
  );
  if (failure) throw failure.error;
}
