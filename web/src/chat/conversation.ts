import { Chat } from "@ai-sdk/react";
import type { ChatRequestOptions, UIMessage } from "ai";
import { type Answer, type ChatView, chooseBranch, getChat, getMessages } from "@/api";
import {
  atFirst,
  type ConversationState,
  type Hooks,
  type Turn,
  type Unsent,
  userMessage,
} from "@/chat/conversationState";
import { ChatFacts } from "@/chat/facts";
import { approvalsIn, merge, withNewer, withOlder } from "@/chat/history";
import { Latest } from "@/chat/latest";
import { isHeld } from "@/chat/queueing";
import { type Failure, failureMessage, failureOf } from "@/failure";
import { newId } from "@/ids";
import { type Fields, fieldsOf, textOf } from "@/json";
import type { Reply } from "@/parts/allowed";
import { endingOf, hasFailed } from "@/parts/wire";
import { pause } from "@/runs/pause";
import { Retries, untilAnswered } from "@/runs/retries";
import { type Attachment, partsOf } from "@/state/attachments";
import { type Attempt, drafts } from "@/state/drafts";
import { queue } from "@/state/queue";
import { type ChatChange, notifyAll, notifyTabs, subscribe } from "@/state/tabs";
import { Store } from "@/store";
import { strings } from "@/strings";
import { SwitchedTransport } from "@/transports/switched";

/** Messages per page of the history. */
const PAGE = 30;
/** How long to wait for the stream to report a requested stop, in ms. */
const STOPPING = 5_000;
/** How long the previous version of a message is shown during a replay, in ms. */
const CATCHING_UP = 2_000;
/** Delay before reconnecting to a run whose response ended while it still runs, in ms. */
const BETWEEN = 300;

const OVER = { stopping: false, refused: undefined, doing: undefined };

/**
 * One chat of the page. The SDK's `Chat` holds the messages and reads streams. This class adds what the
 * SDK lacks: runs that outlive connections, the stored history, and synchronization between tabs.
 *
 * Rule 1: a broken request is retried until it completes: an accepted message is read again; one that
 *         the server may not have is sent again with the same idempotency key.
 * Rule 2: in doubt, the server's state wins.
 *
 * How failed requests are handled, by the kind of `Failure`:
 *
 *     lost     retry after a delay (rule 1); after a few seconds a notice is shown (`runs/outage.ts`)
 *     busy     restore the unsent message as a draft and reload the chat's state
 *     gone     the same; a chat that the server does not know is `missing`
 *     refused  restore the draft and show the server's error message with a Retry button
 *     run      the message shows the error; if it does not, show it below
 */
export class Conversation {
  readonly chat: Chat<UIMessage>;
  readonly state: Store<ConversationState>;
  /** What is known about its answers besides their content. */
  readonly facts: ChatFacts;
  #hooks: Hooks;
  #transport = new SwitchedTransport((runId) => this.#accepted(runId));
  #latest = new Latest();
  #retries = new Retries();
  #runId: string | undefined;
  #unsent: Unsent | undefined;
  /** The SDK's present request; it settles when its stream has ended or was left. */
  #reading: Promise<void> | undefined;
  /** Another tab changed the chat while a run was being read here. */
  #isStale = false;

  constructor(
    readonly id: string,
    isNew: boolean,
    hooks: Hooks,
  ) {
    this.#hooks = hooks;
    this.state = new Store(atFirst(id, isNew));
    this.facts = new ChatFacts(id);
    this.chat = new Chat<UIMessage>({
      id,
      generateId: newId,
      transport: this.#transport,
      onData: ({ type, data }) => type === "data-status" && this.#prepares(fieldsOf(data)),
    });
  }

  /** Subscribes to changes and loads the chat; returns the function that closes it. */
  open(): () => void {
    this.#latest.enter();
    const { signal } = this.#latest;
    const onVisible = () => document.visibilityState === "visible" && this.#refresh();
    document.addEventListener("visibilitychange", onVisible, { signal });
    const unsubscribe = subscribe((change) => change.chat === this.id && this.#onChange(change));
    drafts.takeBack(this.state.get().draft);
    queue.takeBack();
    if (this.state.get().phase !== "ready" || this.chat.messages.length) void this.#sync();
    else if (drafts.attempt(this.state.get().draft)?.chat === this.id) void this.#find();
    return () => {
      this.#latest.leave();
      this.#retries.end();
      unsubscribe();
      // An unsent message is still being sent; it stays a draft until the server has accepted it.
      if (this.#unsent) drafts.takeBack(this.state.get().draft);
      else this.#readNoMore();
    };
  }

  #readNoMore(): void {
    void this.chat.stop();
    this.#transport.close();
  }

  // User actions

  /**
   * `agent`: the agent that the user selected, if any. A text whose arrival is unknown is sent as the same
   * message: the server stores it once.
   */
  send = (text: string, agent?: string, files: Attachment[] = []): void => {
    const known = drafts.attempt(this.state.get().draft);
    const made = this.#attempt(text, agent, files);
    this.#submit({ text, agent, files }, known && isSame(known, made) ? known : made);
  };

  #attempt(text: string, agent: string | undefined, files: Attachment[]): Attempt {
    const urls = partsOf(files).map(({ url }) => url);
    return { chat: this.id, text, agent, files: urls, message: newId(), idempotencyKey: newId() };
  }

  #submit(turn: Turn, attempt: Attempt): void {
    const { text = "", files = [] } = turn;
    const message = { id: attempt.message, ...userMessage(text, partsOf(files)) };
    this.#begin(turn, (options) => this.chat.sendMessage(message, options), attempt);
  }

  /** Sends a queued message now. An active run is interrupted. */
  sendQueued = async (id: string): Promise<void> => {
    const queued = queue.get(this.id).find((each) => each.id === id);
    if (!queued || this.#unsent || queue.sending() === id) return;
    const ends = this.state.get().life === "idle" ? undefined : this.#runId;
    queue.send(id);
    await this.#leaveStream();
    const { text, files, agent, idempotencyKey } = queued;
    const attempt = { ...this.#attempt(text, agent, files), message: id, idempotencyKey };
    this.#submit({ text, files, agent, queued: id, ends }, attempt);
  };

  /** Stops reading: the SDK reads one stream at a time. */
  async #leaveStream(): Promise<void> {
    this.#latest.next();
    await this.chat.stop();
    await this.#reading?.catch(() => {});
  }

  /** Sends the first queued message if the last run has ended well. */
  sendNext = (): void => {
    const [next] = queue.get(this.id);
    const isOpen = !this.#latest.signal.aborted && !this.#unsent;
    if (!next || !isOpen || isHeld(this.state.get(), this.chat.lastMessage, next.id)) return;
    void this.sendQueued(next.id);
  };

  /** Its files stay. */
  edit = (messageId: string, text: string, agent?: string): void => {
    const edited = this.chat.messages.find(({ id }) => id === messageId);
    const files = edited?.parts.filter((part) => part.type === "file");
    const message = { messageId, ...userMessage(text, files) };
    this.#begin({ text, agent }, (options) => this.chat.sendMessage(message, options));
  };

  regenerate = (agent?: string): void => {
    const last = this.chat.lastMessage;
    const messageId = last?.role === "assistant" ? last.id : undefined;
    this.#begin({ agent }, (options) => this.chat.regenerate({ messageId, ...options }));
  };

  /** Shows another version of a message with what follows it; `runId` is its newest answer. */
  choose = async (runId: string): Promise<boolean> => {
    if (this.state.get().life !== "idle") {
      this.#refuse(strings.answers.busy);
      return false;
    }
    try {
      this.facts.addForks(await chooseBranch(this.id, runId));
    } catch (error) {
      this.#notChosen(error, runId);
      return false;
    }
    this.state.set({ refused: undefined });
    notifyTabs({ about: "branch", chat: this.id });
    await this.#sync();
    await this.facts.load();
    return true;
  };

  #notChosen(error: unknown, runId: string): void {
    const { kind } = failureOf(error);
    if (kind === "busy") this.#refuse(strings.answers.busy);
    else if (kind !== "gone") this.#refuse(failureMessage(error), () => void this.choose(runId));
    if (kind === "busy" || kind === "gone") void this.#sync(true);
  }

  /**
   * Answers an approval request. Sent at once: the SDK supports only approve and deny, for this call,
   * and would hold them back while other requests are open.
   */
  decide = async (approvalId: string, reply: Reply): Promise<void> => {
    const { decision, reason, scope } = reply;
    const requesting = this.chat.messages.findLast((each) =>
      approvalsIn(each).includes(approvalId),
    );
    const isPlain = (decision === "approved" || decision === "denied") && scope === undefined;
    if (!requesting || approvalsIn(requesting).length > 1 || !isPlain)
      return this.#answer({ requestId: approvalId, ...reply });
    const approved = decision === "approved";
    const before = this.chat.messages;
    await this.chat.addToolApprovalResponse({ id: approvalId, approved, reason });
    const again = () => this.chat.sendMessage();
    const takeBack = () => {
      this.chat.messages = before;
      void this.#sync(true);
    };
    this.#setUnsent({ what: "answer", again, takeBack });
    this.#live("working");
    await this.#follow(again);
  };

  answer = (
    requestId: string,
    value: unknown,
    decision: Answer["decision"] = "answered",
  ): Promise<void> => {
    return this.#answer({ requestId, decision, value });
  };

  /** Stops the run, not only the stream. */
  stop = async (): Promise<void> => {
    const { life, stopping } = this.state.get();
    if (stopping || life === "idle") return;
    this.state.set({ stopping: true, refused: undefined });
    await (this.#unsent ? this.#stopUnsent(this.#unsent) : this.#stopRun());
  };

  /** Repeats the stop until the server has it, unless the run ends meanwhile. */
  async #stopRun(): Promise<void> {
    const runId = this.#runId;
    const { signal } = this.#latest;
    const isOver = () =>
      signal.aborted || this.state.get().life === "idle" || this.#runId !== runId;
    try {
      await untilAnswered(() => this.#transport.stop(this.id, runId), signal, isOver);
    } catch (error) {
      return isOver() ? undefined : this.#notStopped(error);
    }
    await this.#whenStopped(this.#latest.current());
  }

  async #notStopped(error: unknown): Promise<void> {
    const { kind } = failureOf(error);
    this.state.set({ stopping: false });
    if (kind === "gone" || kind === "busy") await this.#sync(true);
    else if (this.state.get().life !== "idle") this.#refuse(failureMessage(error), this.stop);
  }

  /** Cancels an unsent message. If the server had accepted it, its answer to the stop shows that. */
  async #stopUnsent(unsent: Unsent): Promise<void> {
    this.#latest.next();
    this.#setUnsent(undefined);
    await this.chat.stop();
    this.state.set({ takenBack: unsent.text !== undefined && !unsent.queued });
    this.#reached();
    unsent.takeBack();
    this.#live(unsent.what === "answer" ? "waiting" : "idle");
    const stopped = await this.#transport.stop(this.id).catch(() => undefined);
    const isBusy = this.#unsent !== undefined || this.state.get().life === "working";
    if (!stopped?.runId || isBusy || this.#latest.signal.aborted) return;
    // It may be the run that the message would have interrupted.
    if (stopped.runId !== unsent.ends) this.#accepted(stopped.runId, unsent);
    await this.#sync(true);
  }

  /** Waits for the stream to report the end of the run; without a stream, polls the server. */
  async #whenStopped(isCurrent: () => boolean): Promise<void> {
    const { signal } = this.#latest;
    const isOver = () => !isCurrent() || this.state.get().life === "idle";
    if (this.state.get().life === "working") await pause(STOPPING, signal);
    for (let tries = 1; tries <= 5 && !isOver(); tries++) {
      await pause(200 * tries, signal);
      if (isOver()) return;
      await this.chat.stop();
      await this.#sync(true);
      isCurrent = this.#latest.current();
    }
    if (!isOver()) this.state.set({ stopping: false });
  }

  loadOlder = async (): Promise<void> => {
    const { before, loadingOlder } = this.state.get();
    if (!before || loadingOlder || this.#unsent) return;
    this.state.set({ loadingOlder: true });
    const { signal } = this.#latest;
    try {
      const page = await untilAnswered(() => getMessages(this.id, before, PAGE), signal);
      this.chat.messages = withOlder(this.chat.messages, page.messages);
      this.state.set({ before: page.before });
    } catch {
      // The button stays: the user can retry.
    } finally {
      this.state.set({ loadingOlder: false });
    }
  };

  /** Loads what others have changed. */
  refresh = (): void => this.#refresh();

  /** Hides the error message. */
  dismiss = (): void => this.state.set({ refused: undefined });

  /** Retries loading the chat. */
  reload = (): void => {
    this.state.set({ phase: "loading", refused: undefined });
    void this.#sync();
  };

  // Requests

  #begin(
    turn: Turn,
    request: (options: ChatRequestOptions) => Promise<void>,
    attempt?: Attempt,
  ): void {
    const { text, agent, queued, ends } = turn;
    const before = this.chat.messages;
    const headers = { "idempotency-key": attempt?.idempotencyKey ?? newId() };
    const body = { ...(agent && { agent }), ...(ends && { whenRunning: "interrupt" }) };
    const again = () => {
      this.chat.messages = before;
      return request({ headers, body });
    };
    const { draft } = this.state.get();
    const takeBack = () => {
      this.chat.messages = before;
      if (queued) queue.takeBack();
      else drafts.takeBack(draft);
    };
    if (queued) queue.send(queued);
    else if (text !== undefined) drafts.send(draft, text, attempt, turn.files);
    const repeat = () => this.#begin(turn, request, attempt);
    const what = text === undefined ? undefined : "message";
    this.#setUnsent({ ...turn, what, again, takeBack, repeat });
    this.state.set({ refused: undefined, takenBack: false, doing: undefined });
    this.#live("working");
    void this.#follow(again);
  }

  /** Runs a request of the SDK and handles its end, unless a newer request has replaced it. */
  async #follow(request: () => Promise<void>): Promise<void> {
    const isLatest = this.#latest.next();
    const since = Date.now();
    if (this.#unsent) this.#retries.begin();
    this.#reading = request();
    await this.#reading;
    if (!isLatest()) return;
    this.#retries.held(Date.now() - since);
    if (this.chat.status === "error") await this.#failed(failureOf(this.chat.error));
    else if (endingOf(this.chat.lastMessage)) this.#ended();
    else await this.#sync();
  }

  #accepted(runId: string | undefined, unsent = this.#unsent): void {
    const text = unsent?.text;
    const { draft } = this.state.get();
    const isLeft = this.#latest.signal.aborted;
    if (unsent?.queued) queue.remove(this.id, unsent.queued);
    else if (text !== undefined) drafts.drop(draft, text, isLeft ? draft : this.id);
    this.#setUnsent(undefined);
    if (isLeft) {
      // The view that shows or lists the chat now continues reading.
      this.#readNoMore();
      notifyAll({ about: "turn", chat: this.id });
      return;
    }
    this.#runId = runId;
    const agent = unsent?.agent ?? this.state.get().agent;
    this.#reached();
    this.state.set({ agent, draft: this.id, takenBack: false });
    this.#hooks.onStarted();
    notifyTabs({ about: "turn", chat: this.id });
    if (unsent?.ends) void this.#readEnded(unsent.ends);
  }

  /** Reads the message of a run that this page has interrupted, and stopped reading. */
  async #readEnded(runId: string): Promise<void> {
    const { signal } = this.#latest;
    const view = await getChat(this.id, PAGE).catch(() => undefined);
    if (view && !signal.aborted)
      this.chat.messages = withNewer(this.chat.messages, view.messages, runId);
  }

  #prepares({ kind, message }: Fields): void {
    if (kind === "preparation") this.state.set({ doing: textOf(message) });
  }

  /** Throws if the answer did not arrive: the question then stays open. */
  async #answer(answer: Answer): Promise<void> {
    try {
      await this.#transport.answer(this.id, answer, this.#runId);
    } catch (error) {
      if (failureOf(error).kind !== "lost") void this.#sync(true);
      throw error;
    }
    this.#reached();
    notifyTabs({ about: "turn", chat: this.id });
    await this.#attach();
  }

  /** Reads the streaming message from its start. */
  async #attach(life: "working" | "waiting" = "working"): Promise<void> {
    this.#live(life);
    this.state.set({ replaying: true });
    const caughtUp = setTimeout(() => this.state.set({ replaying: false }), CATCHING_UP);
    await this.#follow(() => this.chat.resumeStream());
    clearTimeout(caughtUp);
    this.state.set({ replaying: false });
  }

  /** Loads the chat's state. `anew`: read the message of its run again even if it is here. */
  async #sync(anew = false): Promise<void> {
    const isLatest = this.#latest.next();
    let view: ChatView;
    this.#retries.begin();
    try {
      view = await getChat(this.id, PAGE);
    } catch (error) {
      if (!isLatest()) return this.#retries.end();
      const failure = failureOf(error);
      return failure.kind === "gone" ? this.#gone() : this.#failed(failure);
    }
    this.#reached();
    if (!isLatest()) return;
    this.#show(view);
    const run = view.activeRun;
    if (!run) return this.#ended();
    if (run.id !== this.#runId) this.state.set({ stopping: false });
    this.#runId = run.id;
    const isRead = this.chat.status === "ready" && this.chat.lastMessage?.id === run.id;
    if (run.status !== "waiting") {
      if (isRead) await pause(BETWEEN, this.#latest.signal);
      await this.#attach();
    } else if (anew || !isRead) await this.#attach("waiting");
    else this.#live("waiting");
  }

  /** A message of a new chat may have arrived although no answer to it did. */
  async #find(): Promise<void> {
    const isCurrent = this.#latest.current();
    const found = await getChat(this.id, 1).catch(() => undefined);
    if (!found || !isCurrent()) return;
    this.#hooks.onStarted();
    await this.#sync();
  }

  #show(view: ChatView): void {
    const { messages, before } = merge(this.chat.messages, this.state.get().before, view);
    this.#hooks.onView(view);
    this.chat.messages = messages;
    this.#dropStored();
    this.state.set({ phase: "ready", agent: view.agent ?? undefined, before });
  }

  /** A message whose arrival was unknown is among the stored ones: it is no draft. */
  #dropStored(): void {
    const { draft } = this.state.get();
    for (const { id } of this.chat.messages) queue.remove(this.id, id);
    const attempt = drafts.attempt(draft);
    if (!attempt || !this.chat.messages.some(({ id }) => id === attempt.message)) return;
    drafts.drop(draft, attempt.text, this.id);
    this.state.set({ draft: this.id, takenBack: false });
  }

  /** The server answered. */
  #reached(): void {
    this.#retries.end();
    this.state.set({ connection: "ok" });
  }

  #setUnsent(unsent: Unsent | undefined): void {
    this.#unsent = unsent;
    this.state.set({ unsent: unsent?.what });
  }

  /** No run is active: the next queued message is sent. */
  #ended(): void {
    const isRead = !this.#isStale;
    this.#rest();
    if (isRead) this.sendNext();
  }

  #rest(): void {
    this.chat.clearError();
    this.#retries.renew();
    this.#runId = undefined;
    this.#setUnsent(undefined);
    this.#reached();
    if (this.state.get().life !== "idle") notifyTabs({ about: "end", chat: this.id });
    this.#live("idle");
    if (!this.#isStale) return;
    this.#isStale = false;
    void this.#sync();
  }

  #live(life: ConversationState["life"]): void {
    if (this.state.get().life === life) return;
    const isOver = life === "idle";
    this.state.set({ life, ...(isOver && OVER) });
    this.#hooks.onLife(life, isOver && hasFailed(endingOf(this.chat.lastMessage)));
  }

  // Failures

  async #failed(failure: Failure): Promise<void> {
    const unsent = this.#unsent;
    if (failure.kind === "lost") return this.#recover();
    this.#setUnsent(undefined);
    this.chat.clearError();
    if (failure.kind === "run") return this.#broke(failure.message);
    unsent?.takeBack();
    if (failure.kind !== "refused") return this.#sync(true);
    if (this.state.get().phase === "loading") this.state.set({ phase: "unreadable" });
    this.#rest();
    this.#refuse(failure.message, unsent?.repeat);
  }

  /** The run failed. Shows the error beside the message if the message does not contain it. */
  #broke(message: string): void {
    const isShown = endingOf(this.chat.lastMessage)?.error !== undefined;
    this.#rest();
    if (!isShown) this.#refuse(message);
  }

  #gone(): void {
    this.#rest();
    this.state.set({ phase: "missing" });
  }

  #refuse(message: string, again?: () => void): void {
    this.state.set({ refused: { message, again } });
  }

  async #recover(): Promise<void> {
    const isCurrent = this.#latest.current();
    this.state.set({ connection: "lost" });
    await this.#retries.wait(this.#latest.signal);
    if (!isCurrent()) return;
    if (this.#unsent) await this.#follow(this.#unsent.again);
    else await this.#sync();
  }

  // Changes made by other tabs

  #onChange(change: ChatChange): void {
    if (change.about === "deleted") this.#gone();
    else if (change.about !== "title") this.#refresh(true);
  }

  /** Loads changes, unless a stream or a retry is active. */
  #refresh(anew = false): void {
    const { phase, life, connection } = this.state.get();
    const isNew = phase === "ready" && this.chat.messages.length === 0;
    if (phase !== "ready" || isNew) return;
    if (life === "working" || connection === "lost") this.#isStale ||= anew;
    else void this.#sync(anew);
  }
}

/** Whether a message is the one whose arrival is unknown. */
function isSame(known: Attempt, made: Attempt): boolean {
  const of = ({ chat, text, agent, files = [] }: Attempt) =>
    JSON.stringify([chat, text, agent, files]);
  return of(known) === of(made);
}
