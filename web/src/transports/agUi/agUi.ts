import { isToolUIPart, type UIMessage } from "ai";
import { type Answer, address } from "@/api";
import { newId } from "@/ids";
import { fetchWithKey } from "@/key";
import { Answering, taken } from "@/transports/agUi/answering";
import { asMessage } from "@/transports/agUi/messages";
import type { Question, Resume } from "@/transports/agUi/readingAgent";
import { Translation } from "@/transports/agUi/translation";
import { continuedBy, keyOf } from "@/transports/body";
import { whole } from "@/transports/broken";
import type { Chunks, OnAccepted, Sending, Transport } from "@/transports/transport";

type RunInput = Pick<Question, "runId"> & Partial<Question>;

/** The response header with the run's id. */
const RUN = "x-mobox-run";

/**
 * AG-UI, with its own client. A thread is a chat; a request has an id, so that a retry gets the same
 * answer; a decision resumes the run that was interrupted by its request.
 */
export class AgUiTransport implements Transport {
  readonly resumeStreamIsReplay = true;
  /** The translation of the last run: a resumed run continues from its state. */
  #translation: Translation | undefined;

  constructor(private readonly onAccepted: OnAccepted) {}

  async sendMessages(sending: Sending): Promise<Chunks> {
    const continued = continuedBy(sending);
    const input = continued ? await this.#resumed(sending, continued) : submission(sending);
    const chunks = await this.#ask(sending.chatId, input, sending.abortSignal);
    this.onAccepted(this.#translation?.run);
    return chunks as Chunks;
  }

  async reconnectToStream({
    chatId,
    abortSignal,
  }: Pick<Sending, "chatId"> & Partial<Sending>): Promise<Chunks | null> {
    this.#translation = undefined;
    const url = address("api/agui/chat/connect", { replay: 1 });
    return this.#ask(chatId, { runId: newId(), url }, abortSignal);
  }

  async stop(chatId: string, runId?: string): Promise<{ runId: string | null }> {
    const response = await fetchWithKey(address("api/agui/chat/stop"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ threadId: chatId, ...(runId && { runId }) }),
    });
    return (await taken(response)).json();
  }

  /** The agent's output is read by the next reconnect. */
  async answer(chatId: string, answer: Answer): Promise<void> {
    const leaving = new AbortController();
    await this.#ask(chatId, { runId: newId(), resume: [entry(answer)] }, leaving.signal);
    leaving.abort();
  }

  close(): void {}

  /** The resume request; the same decisions make the same request. */
  async #resumed({ chatId, abortSignal }: Sending, message: UIMessage): Promise<RunInput> {
    const answers = message.parts.flatMap(decided);
    if (!this.#knows(message.id, answers)) await this.#learn(chatId, abortSignal);
    const runId = [message.id, ...answers.map(({ requestId }) => requestId)].join("/");
    return { runId, resume: answers.map(entry) };
  }

  /** Whether all answered requests were received: the run may have continued in another protocol. */
  #knows(run: string, answers: Answer[]): boolean {
    const last = this.#translation;
    return last?.run === run && answers.every(({ requestId }) => last.requests.isOpen(requestId));
  }

  /** Reads all events of the waiting run. */
  async #learn(chatId: string, abortSignal: AbortSignal | undefined): Promise<void> {
    const replayed = await this.reconnectToStream({ chatId, abortSignal });
    const reader = replayed?.getReader();
    while (reader && !(await reader.read()).done);
  }

  /** The chunks of the response; nothing if the server has none. */
  async #ask(threadId: string, input: RunInput, signal?: AbortSignal): Promise<Chunks | null> {
    const question = { url: address("api/agui/chat"), threadId, ...input };
    const answer = new Answering(question, signal);
    const run = (await answer.started).headers.get(RUN);
    if (run === null) {
      answer.leave();
      return null;
    }
    const translation = this.#of(run);
    this.#translation = translation;
    return whole(answer.read((event) => translation.read(event)));
  }

  #of(run: string): Translation {
    return this.#translation?.run === run ? this.#translation : new Translation(run);
  }
}

/** Sends only the last message; the server has the others. */
function submission(sending: Sending): RunInput {
  const key = keyOf(sending);
  return {
    headers: key === undefined ? {} : { "idempotency-key": key },
    messages: sending.messages.slice(-1).map(asMessage),
    runId: key ?? newId(),
    forwardedProps: { ...sending.body },
  };
}

/** The user's decision on a tool call. */
function decided(part: UIMessage["parts"][number]): Answer[] {
  if (!isToolUIPart(part) || part.state !== "approval-responded") return [];
  const { id, approved, reason } = part.approval;
  return [{ requestId: id, decision: approved ? "approved" : "denied", reason }];
}

/** An answer, with our name of the decision; ids of requests are those on the wire. */
function entry({ requestId, decision, value, reason, scope }: Answer): Resume[number] {
  const payload = value ?? reason;
  return {
    interruptId: requestId,
    status: decision === "cancelled" ? "cancelled" : "resolved",
    ...(payload !== undefined && { payload }),
    metadata: { mobox: { decision, ...(scope && { scope }) } },
  };
}
