import type { UIMessageChunk } from "ai";
import { type Fields, fieldsOf, isFields, listOf, numberOf, parsed, textOf } from "@/json";
import { type Event, idIn, moboxIn, type Scopes } from "@/transports/agUi/names";

/** The same text as the server's in the AI SDK protocol. */
const INVALID_INPUT = "The input of this call is not valid JSON.";
const FAILED: ReadonlySet<unknown> = new Set(["error", "denied", "interrupted"]);

interface Call {
  common: { toolCallId: string; dynamic: true; providerExecuted?: true };
  name: string;
  metadata: { providerMetadata?: never };
  /** The input received so far. */
  text: string;
  streams: boolean;
  invalid: boolean;
  /** The input is complete, the result is missing. */
  waits: boolean;
  denied: boolean;
  /** The last chunk of its result, and the message that contained it. */
  answer?: { chunk?: UIMessageChunk; message: string };
}

/** The tool calls of a run. */
export class Calls {
  #calls = new Map<string, Call>();

  constructor(private readonly scopes: Scopes) {}

  get isAnyStreaming(): boolean {
    return [...this.#calls.values()].some(({ streams }) => streams);
  }

  waits(id: string | undefined): boolean {
    return this.#calls.get(id ?? "")?.waits ?? false;
  }

  /** The call was reported as denied; it can have no other result. */
  deny(id: string): void {
    const call = this.#calls.get(id);
    if (call) call.denied = true;
  }

  start(event: Event): UIMessageChunk[] {
    const toolCallId = idIn(event.toolCallId);
    if (this.#calls.has(toolCallId)) return []; // repeated where a response starts amid its input
    const { kind, display, server } = moboxIn(event);
    const mobox = { ...known({ kind, display }), ...this.scopes.of(event) };
    const hasMobox = Object.keys(mobox).length > 0;
    const call: Call = {
      common: { toolCallId, dynamic: true, ...(server === true && { providerExecuted: true }) },
      name: textOf(event.toolCallName) ?? "",
      metadata: hasMobox ? { providerMetadata: { mobox } as never } : {},
      text: "",
      streams: true,
      invalid: false,
      waits: false,
      denied: false,
    };
    this.#calls.set(toolCallId, call);
    return [{ type: "tool-input-start", ...call.common, toolName: call.name, ...call.metadata }];
  }

  more(event: Event): UIMessageChunk[] {
    const call = this.#calls.get(idIn(event.toolCallId));
    if (!call) return [];
    const inputTextDelta = textOf(event.delta) ?? "";
    call.text += inputTextDelta;
    return [{ type: "tool-input-delta", toolCallId: call.common.toolCallId, inputTextDelta }];
  }

  /** The input is complete, or the response ends amid the input, which is then invalid JSON. */
  end(event: Event): UIMessageChunk[] {
    const call = this.#calls.get(idIn(event.toolCallId));
    if (!call) return [];
    const { invalid, added } = moboxIn(event);
    return invalid === true ? this.#broken(call, textOf(added) ?? "") : this.#input(call);
  }

  result(event: Fields): UIMessageChunk[] {
    const call = this.#calls.get(idIn(event.toolCallId));
    if (!call) return [];
    const before = call.answer !== undefined;
    call.waits = false;
    const chunk = resultChunk(call, event, before);
    call.answer = { ...(chunk && { chunk }), message: nameOf(event) };
    return chunk ? [chunk] : [];
  }

  /** A partial result. */
  output(received: Fields): UIMessageChunk[] {
    const call = this.#calls.get(idIn(received.toolCallId));
    if (!call) return [];
    call.waits = false;
    const { common, denied } = call;
    const { output } = received;
    const chunk: UIMessageChunk = denied
      ? { type: "tool-output-denied", toolCallId: common.toolCallId }
      : { type: "tool-output-available", ...common, output, preliminary: true };
    call.answer = { chunk, message: "" };
    return [chunk];
  }

  /** The calls that are missing in a snapshot. */
  missing(received: Map<string, Fields>): string[] {
    return [...this.#calls.keys()].filter((id) => !received.has(id));
  }

  /** Chunks for inputs and results that differ in a snapshot. */
  corrected(received: Map<string, Fields>, results: Map<string, Fields>): UIMessageChunk[] {
    return [...this.#calls].flatMap(([id, call]) => {
      const there = received.get(id);
      const result = results.get(id);
      return [...this.#inputAnew(call, there), ...this.#resultAnew(call, result)];
    });
  }

  #inputAnew(call: Call, received: Fields | undefined): UIMessageChunk[] {
    const text = textOf(fieldsOf(received?.function).arguments);
    if (text === undefined || call.streams || call.invalid || isSame(text, call.text)) return [];
    call.text = text;
    // The client then treats it as a call without a result.
    const { answer } = call;
    return [...this.#input(call, answer === undefined), ...(answer?.chunk ? [answer.chunk] : [])];
  }

  #resultAnew(call: Call, received: Fields | undefined): UIMessageChunk[] {
    if (received === undefined || call.answer?.message === nameOf(received)) return [];
    return this.result(received);
  }

  #input(call: Call, waits = true): UIMessageChunk[] {
    const input = parsed(call.text);
    if (input === undefined) return [];
    call.streams = false;
    call.waits = waits;
    const { common, name: toolName, metadata } = call;
    return [{ type: "tool-input-available", ...common, toolName, input, ...metadata }];
  }

  #broken(call: Call, added: string): UIMessageChunk[] {
    call.streams = false;
    call.invalid = true;
    const input = call.text.slice(0, call.text.length - added.length);
    const { common, name: toolName, metadata } = call;
    const errorText = INVALID_INPUT;
    return [{ type: "tool-input-error", ...common, toolName, input, errorText, ...metadata }];
  }
}

function resultChunk(call: Call, received: Fields, before: boolean): UIMessageChunk | undefined {
  const { common } = call;
  const { status } = moboxIn(received);
  if (call.denied) return { type: "tool-output-denied", toolCallId: common.toolCallId };
  if (status === "interrupted" && call.invalid) {
    // The client ended this call at its invalid input, unless it received a result since.
    return before ? { type: "tool-output-error", ...common, errorText: INVALID_INPUT } : undefined;
  }
  if (FAILED.has(status))
    return { type: "tool-output-error", ...common, errorText: textOf(received.content) ?? "" };
  return { type: "tool-output-available", ...common, output: outputOf(received) };
}

/** The tool's output, decoded from the text content. */
function outputOf(received: Fields): unknown {
  const { json, lines } = moboxIn(received);
  const text = textOf(received.content);
  if (text === undefined) return received.content;
  if (json === true) return parsed(text);
  if (lines === undefined) return text;
  const rows = text.split("\n");
  const take = (count: unknown) => rows.splice(0, numberOf(count) ?? 1).join("\n");
  return listOf(lines).map((count) => ({ type: "text", text: take(count) }));
}

const nameOf = ({ content, metadata }: Fields) => JSON.stringify([content, metadata]);

const known = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const isSame = (one: string, other: string) =>
  one === other || ordered(parsed(one)) === ordered(parsed(other));

/** A value as JSON with sorted keys. */
const ordered = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, each: unknown) =>
    isFields(each) ? Object.fromEntries(Object.entries(each).sort()) : each,
  );
