/**
 * Translates the AG-UI events of one run into the chunks of the AI SDK protocol.
 *
 * Rule 1: an event type is a row of READERS, a CUSTOM name a row of CUSTOMS, an activity a row of
 *         ACTIVITIES. Others are ignored, or are an application's own data.
 * Rule 2: one run has one translation over all its responses, so that state from before a pause is
 *         known after it.
 * Rule 3: a snapshot of the messages is compared with what was received, for retracted and corrected
 *         blocks.
 */
import type { UIMessageChunk } from "ai";
import { type Fields, fieldsOf, listOf, numberOf, textOf } from "@/json";
import { Blocks } from "@/transports/agUi/blocks";
import { Calls } from "@/transports/agUi/calls";
import { type Event, moboxIn, Names, Scopes } from "@/transports/agUi/names";
import { Requests } from "@/transports/agUi/requests";
import { Spans } from "@/transports/agUi/spans";

type Reader = (run: Translation, event: Event) => UIMessageChunk[];
type CustomReader = (run: Translation, fields: Fields, event: Event) => UIMessageChunk[];

export class Translation {
  readonly names: Names;
  readonly scopes: Scopes;
  readonly blocks: Blocks;
  readonly calls: Calls;
  readonly requests: Requests;
  readonly spans: Spans;
  readonly #retracted = new Set<string>();
  #usage: Fields | undefined;
  #durationMs: number | undefined;

  constructor(readonly run: string) {
    this.names = new Names(run);
    this.scopes = new Scopes();
    this.blocks = new Blocks(this.names, this.scopes);
    this.calls = new Calls(this.scopes);
    this.requests = new Requests(this.calls);
    this.spans = new Spans(this.names, this.scopes);
  }

  read(event: Event): UIMessageChunk[] {
    const chunks = READERS[event.type]?.(this, event) ?? [];
    this.spans.saw(chunks);
    return chunks;
  }

  /** A turn of the root agent; not while a block is open across turns. */
  turn(): UIMessageChunk[] {
    const isAmid = this.blocks.isAnyOpen || this.calls.isAnyStreaming;
    return isAmid ? [] : this.spans.turn();
  }

  use({ cacheWriteInputTokens, ...fields }: Fields): UIMessageChunk[] {
    const written =
      cacheWriteInputTokens === undefined ? {} : { cacheWriteTokens: cacheWriteInputTokens };
    this.#usage = { ...fields, ...written };
    return [{ type: "data-usage", id: "usage", data: this.#usage }];
  }

  /** The run's duration; reasoning has its own. */
  took({ messageId, durationMs }: Fields): UIMessageChunk[] {
    if (messageId === undefined) this.#durationMs = numberOf(durationMs);
    return [];
  }

  snapshot({ messages }: Event): UIMessageChunk[] {
    const ours = listOf(messages).map(fieldsOf);
    const byId = new Map(ours.map((message) => [textOf(message.id) ?? "", message]));
    const calls = ours.flatMap(({ toolCalls }) => listOf(toolCalls).map(fieldsOf));
    const byCall = new Map(calls.map((call) => [textOf(call.id) ?? "", call]));
    const results = ours.filter(({ role }) => role === "tool");
    const ofCall = new Map(results.map((result) => [textOf(result.toolCallId) ?? "", result]));
    const gone = [...this.blocks.missing(byId), ...this.calls.missing(byCall)];
    return [...this.#retract(gone), ...this.calls.corrected(byCall, ofCall)];
  }

  #retract(ids: string[]): UIMessageChunk[] {
    const before = this.#retracted.size;
    for (const id of ids) this.#retracted.add(id);
    if (this.#retracted.size === before) return [];
    return [{ type: "data-retract", id: "retract", data: { ids: [...this.#retracted] } }];
  }

  // The end of a response

  wait(): UIMessageChunk[] {
    return [
      ...this.requests.open(),
      ...this.#close(),
      { type: "finish", finishReason: "tool-calls" },
    ];
  }

  finish(event: Event): UIMessageChunk[] {
    const reason = textOf(moboxIn(event).reason) ?? "stop";
    const messageMetadata = this.#metadata(reason, event);
    if (reason === "cancelled")
      return [
        ...this.#close(),
        { type: "message-metadata", messageMetadata },
        { type: "abort", reason },
      ];
    const finishReason = reason === "interrupted" ? "interrupted" : "stop";
    return [...this.#close(), { type: "finish", finishReason, messageMetadata }];
  }

  fail(event: Event): UIMessageChunk[] {
    const errorText = textOf(event.message) ?? "";
    const reason = textOf(moboxIn(event).reason) ?? "error";
    const code = textOf(event.code); // the reason, where the log has no code
    const messageMetadata = {
      ...this.#metadata(reason, event),
      error: errorText,
      ...(code !== undefined && code !== reason && { errorCode: code }),
    };
    return [
      ...this.#close(),
      { type: "message-metadata", messageMetadata },
      { type: "error", errorText },
      { type: "finish", finishReason: "error" },
    ];
  }

  #close(): UIMessageChunk[] {
    return [...this.blocks.closeAll(), ...this.spans.finishTurn()];
  }

  #metadata(reason: string, end: Event): Fields {
    return {
      reason,
      ...(this.#usage && { usage: this.#usage }),
      ...(this.#durationMs !== undefined && { durationMs: this.#durationMs }),
      ...(moboxIn(end).simulated === true && { simulated: true }),
    };
  }
}

const READERS: Record<string, Reader> = {
  RUN_STARTED: (run) => [{ type: "start", messageId: run.run }],
  TEXT_MESSAGE_START: (run, event) => run.blocks.start(event, "text"),
  TEXT_MESSAGE_CONTENT: (run, event) => run.blocks.more(event),
  TEXT_MESSAGE_END: (run, event) => run.blocks.end(event),
  REASONING_MESSAGE_START: (run, event) => run.blocks.start(event, "reasoning"),
  REASONING_MESSAGE_CONTENT: (run, event) => run.blocks.more(event),
  REASONING_MESSAGE_END: (run, event) => run.blocks.end(event),
  TOOL_CALL_START: (run, event) => run.calls.start(event),
  TOOL_CALL_ARGS: (run, event) => run.calls.more(event),
  TOOL_CALL_END: (run, event) => run.calls.end(event),
  TOOL_CALL_RESULT: (run, event) => run.calls.result(event),
  STEP_STARTED: (run, event) => (run.spans.isTurn(event) ? run.turn() : run.spans.startStep(event)),
  STEP_FINISHED: (run, event) => run.spans.endStep(event),
  SUBAGENT_STARTED: (run, event) => run.spans.startAgent(event),
  SUBAGENT_FINISHED: (run, event) => run.spans.endAgent(event),
  SUBAGENT_ERROR: (run, event) => run.spans.failAgent(event),
  ACTIVITY_SNAPSHOT: (run, event) =>
    ACTIVITIES[textOf(event.activityType) ?? ""]?.(run, fieldsOf(event.content), event) ?? [],
  CUSTOM: (run, event) => {
    const teller = CUSTOMS[textOf(event.name) ?? ""];
    return teller ? teller(run, fieldsOf(event.value), event) : [application(event)];
  },
  MESSAGES_SNAPSHOT: (run, event) => run.snapshot(event),
  RUN_FINISHED: (run, event) => (moboxIn(event).waiting ? run.wait() : run.finish(event)),
  RUN_ERROR: (run, event) => run.fail(event),
};

const ACTIVITIES: Record<string, CustomReader> = {
  "mobox.todos": (run, { items }, event) => {
    const { scope } = run.scopes.of(event);
    const id = ["todos", ...(scope?.slice(-1) ?? [])].join("/");
    return [{ type: "data-todos", id, data: { items, ...(scope && { scope }) } }];
  },
  "mobox.sources": (run, content) => run.blocks.found(content),
  "mobox.file": (run, { url, mediaType, ...about }, event) => {
    const more = { ...about, ...run.scopes.of(event) };
    if (typeof url !== "string") return [{ type: "data-file", data: { mediaType, ...more } }];
    const providerMetadata = { mobox: more } as never;
    return [{ type: "file", url, mediaType: textOf(mediaType) ?? "", providerMetadata }];
  },
};

const CUSTOMS: Record<string, CustomReader> = {
  "mobox.processing": (run, fields) => run.blocks.processing(fields),
  "mobox.tool_output": (run, fields) => run.calls.output(fields),
  "mobox.input_request": (run, fields) => run.requests.ask(fields),
  "mobox.input_response": (run, fields) => [...run.requests.answer(fields), ...run.turn()],
  "mobox.subagent": (run, fields, event) => run.spans.subagent(fields, event),
  "mobox.usage": (run, fields) => run.use(fields),
  "mobox.duration": (run, fields) => run.took(fields),
  "mobox.state": () => [],
  // All others are also lines of a Processing block.
  "mobox.status": (_, data) =>
    data.kind === "preparation" ? [{ type: "data-status", data, transient: true }] : [],
};

/** Names of our data parts, which an application's own must not use. */
const OURS = new Set([
  "usage",
  "todos",
  "status",
  "retract",
  "input",
  "subagent",
  "step",
  "file",
  "state",
]);

function application(event: Event): UIMessageChunk {
  const safe = (textOf(event.name) ?? "").replace(/[^A-Za-z0-9_-]+/g, "-") || "custom";
  const id = textOf(moboxIn(event).id);
  const type = `data-${OURS.has(safe) ? `custom-${safe}` : safe}` as const;
  return { type, data: event.value, ...(id !== undefined && { id }) };
}
