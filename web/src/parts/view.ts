/**
 * Turns the parts of a message into blocks, in order: a pure function, the same live and from history.
 *
 * Rule 1: a part's type is a row of READERS; others are ignored, or shown as data.
 * Rule 2: only retracted parts, and parts shown in another block, are left out.
 * Rule 3: keys are stable over the life of a message: the open state is stored by them.
 */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, listOf, numberOf, textOf } from "@/json";
import { allowedOf } from "@/parts/allowed";
import type { Block, FileItem, Item, ItemState, Variant } from "@/parts/blocks";
import { answerOf, callOf, going, isTool, readTool } from "@/parts/calls";
import { type Facts, factsOf, nameOfScope } from "@/parts/facts";
import { readFile } from "@/parts/fileItems";
import { Flows } from "@/parts/flows";
import { finish } from "@/parts/grouping";
import { withoutRepeated } from "@/parts/repeated";
import { isOnCards } from "@/parts/reports";
import { Subagents } from "@/parts/subagents";
import { dataOf, END, endingOf, idOf, moboxOf, namesOf, type Part, scopeOf } from "@/parts/wire";
import { foldWork } from "@/parts/work";
import { strings } from "@/strings";

/** `steps`: every block by itself. `answer`: the work between texts is one block each. */
export type Style = "steps" | "answer";

export function view(message: UIMessage, live: boolean, style: Style = "steps"): Block[] {
  const facts = factsOf(message, live);
  const reader = new Reader(message, facts);
  for (const part of message.parts) reader.read(part);
  const blocks = reader.blocks();
  if (style === "steps") return finish(blocks);
  const { durationMs } = fieldsOf(message.metadata);
  return foldWork(finish(withoutRepeated(blocks, facts), Infinity), facts, numberOf(durationMs));
}

class Reader {
  readonly root: Block[] = [];
  readonly flows: Flows;
  readonly subagents: Subagents;
  #keys = new Map<string, number>();

  constructor(
    private readonly message: UIMessage,
    readonly facts: Facts,
  ) {
    this.flows = new Flows(message.id);
    this.subagents = new Subagents(this.root, facts, (id) => this.key("subagent", id));
  }

  read(part: Part): void {
    const id = idOf(part);
    if (id !== undefined && this.facts.retracted.has(id)) return;
    const type = isTool(part) ? "tool" : part.type;
    const reader = READERS[type] ?? (type.startsWith("data-") ? readData : undefined);
    reader?.(this, part);
  }

  /** A key that is unique in the message. */
  key(kind: string, id: string | undefined): string {
    const name = `${this.message.id}/${kind}${id === undefined ? "" : `:${id}`}`;
    const times = (this.#keys.get(name) ?? 0) + 1;
    this.#keys.set(name, times);
    return times === 1 ? name : `${name}#${times}`;
  }

  list(part: Part): Block[] {
    const requestedCall = part.type === "data-input" ? textOf(dataOf(part).toolCallId) : undefined;
    const call = requestedCall === undefined ? undefined : this.facts.calls.get(requestedCall);
    return this.subagents.listOf(scopeOf(call ?? part));
  }

  add(part: Part, block: Block): void {
    this.list(part).push(block);
  }

  blocks(): Block[] {
    this.subagents.finish();
    const sources = this.flows.finish(this.facts);
    if (sources) this.root.push(sources);
    const { reason, error, code } = endingOf(this.message) ?? {};
    const key = this.key("end", undefined);
    if (error !== undefined)
      this.root.push({ kind: "error", key, made: [END], text: error, ...(code && { code }) });
    else if (reason !== undefined) this.root.push({ kind: "ending", key, made: [END], reason });
    return this.root;
  }
}

type PartReader = (reader: Reader, part: Part) => void;
const ignore: PartReader = () => {};

const READERS: Record<string, PartReader> = {
  text: readText,
  reasoning: readReasoning,
  tool: readCall,
  file: (reader, part) => addFile(reader, part),
  "reasoning-file": (reader, part) => addFile(reader, part),
  "source-url": (reader, part) => reader.flows.source(part),
  "source-document": (reader, part) => reader.flows.source(part),
  "step-start": (reader) => reader.flows.breakOff(reader.root),
  "data-file": (reader, part) => addFile(reader, part),
  "data-todos": readTodos,
  "data-step": readStep,
  "data-subagent": (reader, part) => reader.subagents.card([...scopeOf(part), idOf(part) ?? ""]),
  "data-input": readRequest,
  "data-chart": (reader, part) =>
    reader.add(part, {
      kind: "chart",
      key: reader.key("chart", idOf(part)),
      made: namesOf(part),
      data: payloadOf(part),
    }),
  "data-agent-started": ignore,
  "data-retract": ignore,
  "data-state": ignore,
  "data-status": ignore,
  "data-usage": ignore,
};

const payloadOf = (part: Part) => (part as { data?: unknown }).data;

function readText(reader: Reader, part: Part): void {
  const fields = part as unknown as Fields;
  const tone = textOf(moboxOf(part).variant);
  const workedMs = numberOf(moboxOf(part).workedMs);
  reader.flows.text(reader.list(part), {
    id: idOf(part),
    text: textOf(fields.text) ?? "",
    tone: tone === "commentary" || tone === "refusal" ? tone : "answer",
    active: reader.facts.live && fields.state === "streaming",
    ...(workedMs !== undefined && { workedMs }),
    key: () => reader.key("text", idOf(part)),
  });
}

/** Prefixes of start-up lines, for messages without a variant. */
const START_UP =
  /^\s*(creating (the |a )?sandbox|starting (the )?agent|initiali[sz]ing|setting up|preparing|loading|connecting|installing)\b/im;

function variantOf(part: Part, text: string): Variant {
  const value = moboxOf(part).variant;
  if (value === "processing" || value === "thinking") return value;
  return START_UP.test(text) ? "processing" : "thinking";
}

function readReasoning(reader: Reader, part: Part): void {
  const fields = part as unknown as Fields;
  const text = textOf(fields.text) ?? "";
  if (text.trim() === "") return;
  if (moboxOf(part).said === true && scopeOf(part).length > 0) {
    readText(reader, part);
    return;
  }
  const variant = variantOf(part, text);
  if (variant === "thinking" && isOnCards(text, reader.facts)) {
    reader.flows.breakOff(reader.list(part));
    return;
  }
  const durationMs = numberOf(moboxOf(part).durationMs);
  reader.add(part, {
    kind: "reasoning",
    key: reader.key("reasoning", idOf(part)),
    made: namesOf(part),
    variant,
    text,
    active: reader.facts.live && fields.state === "streaming",
    newer: false,
    ...(durationMs !== undefined && { durationMs }),
    ...(reader.facts.broken && { broken: true }),
  });
}

function readCall(reader: Reader, part: Part): void {
  const { facts } = reader;
  const callId = callOf(part);
  const block = readTool(part, reader.key("tool", callId), facts);
  const scope = scopeOf(part);
  if (facts.senders.has(callId)) reader.subagents.sent([...scope, callId], block);
  else if (isShownInOtherBlock(part, facts) && QUIET.has(block.state))
    reader.flows.breakOff(reader.list(part));
  else reader.add(part, block);
}

const QUIET: ReadonlySet<string> = new Set(["preparing", "running", "done"]);

/** Tools that only make a plan or a thought, which has its own block. */
function isShownInOtherBlock(part: Part, facts: Facts): boolean {
  const { display } = moboxOf(part);
  return (
    display === "think" || (display === "todos" && facts.plans.has(nameOfScope(scopeOf(part))))
  );
}

/** The last block, which may consist of several parts. */
function alsoMadeOf(list: Block[], part: Part): void {
  const last = list.at(-1);
  if (last) last.made = [...(last.made ?? []), ...namesOf(part)];
}

function addFile(reader: Reader, part: Part): void {
  const file: FileItem = readFile(part);
  const list = reader.list(part);
  const last = list.at(-1);
  if (last?.kind === "files") last.files.push(file);
  else list.push({ kind: "files", key: reader.key("files", undefined), files: [file] });
  alsoMadeOf(list, part);
}

const TODO_STATES: Record<string, ItemState> = { in_progress: "running", completed: "done" };

function readTodos(reader: Reader, part: Part): void {
  const items = listOf(dataOf(part).items).map((value): Item => {
    const item = fieldsOf(value);
    const state = TODO_STATES[textOf(item.status) ?? ""] ?? "pending";
    const now = state === "running" ? textOf(item.activeForm) : undefined;
    return { text: now ?? textOf(item.content) ?? "", state: itemState(state, reader.facts) };
  });
  if (items.length > 0)
    reader.add(part, {
      kind: "todos",
      key: reader.key("todos", idOf(part)),
      made: namesOf(part),
      items,
    });
}

/** Steps that have no name of their own. */
const STEPS: Record<string, string> = { compaction: strings.activity.compaction };

const STEP_STATES: Record<string, ItemState> = {
  running: "running",
  error: "failed",
  denied: "failed",
  interrupted: "stopped",
};

function readStep(reader: Reader, part: Part): void {
  const data = dataOf(part);
  const text = textOf(data.name) || STEPS[textOf(data.kind) ?? ""] || textOf(data.kind) || "";
  const state = STEP_STATES[textOf(data.status) ?? ""] ?? "done";
  const item: Item = { text, state: itemState(state, reader.facts) };
  const list = reader.list(part);
  const last = list.at(-1);
  if (last?.kind === "steps") last.items.push(item);
  else list.push({ kind: "steps", key: reader.key("steps", idOf(part)), items: [item] });
  alsoMadeOf(list, part);
}

const itemState = (state: ItemState, facts: Facts): ItemState =>
  state === "running" && going("running", facts) === "stopped" ? "stopped" : state;

function readRequest(reader: Reader, part: Part): void {
  const { kind, prompt, schema, options, allowed, answered } = dataOf(part);
  const words = textOf(prompt);
  const callId = textOf(dataOf(part).toolCallId) ?? "";
  const call = reader.facts.calls.get(callId) as Fields | undefined;
  if (kind === "approval" && call) return; // shown in the call's card
  const isAnswered = answered !== undefined || call?.state === "output-available";
  reader.add(part, {
    kind: "request",
    key: reader.key("request", idOf(part)),
    made: namesOf(part),
    id: idOf(part) ?? "",
    about: textOf(kind) ?? "question",
    ...(words && { prompt: words }),
    ...(schema !== undefined && { schema }),
    ...(options !== undefined && { options }),
    allowed: allowedOf(allowed),
    open: reader.facts.open.has(part),
    ...(isAnswered && { answer: answerOf(fieldsOf(answered)) }),
  });
}

function readData(reader: Reader, part: Part): void {
  const value = payloadOf(part);
  if (value === null || value === undefined || value === "") return;
  const item = { name: part.type.slice("data-".length), value };
  const list = reader.list(part);
  const last = list.at(-1);
  if (last?.kind === "data") last.items.push(item);
  else list.push({ kind: "data", key: reader.key("data", idOf(part)), items: [item] });
  alsoMadeOf(list, part);
}
