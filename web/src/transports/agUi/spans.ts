import type { UIMessageChunk } from "ai";
import { type Fields, listOf, textOf } from "@/json";
import { type Event, idIn, moboxIn, type Names, type Scopes } from "@/transports/agUi/names";

/** Default error texts of subagents. */
const WORDLESS = new Set([
  "The subagent failed.",
  "The subagent was denied.",
  "The subagent was interrupted.",
]);

/** The steps, tasks and subagents of a run. */
export class Spans {
  #isOpen = false;
  /** The turn has no output yet. */
  #isFresh = false;
  #turns = new Set<string>();
  #agents = new Map<string, Fields>();

  constructor(
    private readonly names: Names,
    private readonly scopes: Scopes,
  ) {}

  saw(chunks: UIMessageChunk[]): void {
    if (chunks.some(({ type }) => type !== "start-step" && type !== "start")) this.#isFresh = false;
  }

  turn(): UIMessageChunk[] {
    if (this.#isOpen && this.#isFresh) return [];
    const ended = this.finishTurn();
    this.#isOpen = this.#isFresh = true;
    return [...ended, { type: "start-step" }];
  }

  finishTurn(): UIMessageChunk[] {
    if (!this.#isOpen) return [];
    this.#isOpen = false;
    return [{ type: "finish-step" }];
  }

  /** Whether a turn of the root agent starts; repeated where a response starts amid it. */
  isTurn(event: Event): boolean {
    const { id, kind } = moboxIn(event);
    const name = textOf(id) ?? "";
    if (kind !== "turn" || event.subagentRunId !== undefined || this.#turns.has(name)) return false;
    this.#turns.add(name);
    return true;
  }

  startStep(event: Event): UIMessageChunk[] {
    return this.#step(event, "running");
  }

  endStep(event: Event): UIMessageChunk[] {
    const { id, status } = moboxIn(event);
    if (status === undefined) return []; // only the response ends here
    this.#turns.delete(textOf(id) ?? "");
    return this.#step(event, status);
  }

  /** Only for tasks and compactions: other steps belong to a graph or a subagent. */
  #step(event: Event, status: unknown): UIMessageChunk[] {
    const { id, kind, name, number } = moboxIn(event);
    if (kind === undefined || kind === "turn" || kind === "node") return [];
    const about = {
      kind,
      ...(name !== undefined && { name }),
      ...(number !== undefined && { number }),
    };
    return [{ type: "data-step", id: textOf(id) ?? "", data: { ...about, status } }];
  }

  startAgent(event: Event): UIMessageChunk[] {
    const { name: agent, description: task } = event;
    return this.#started(
      event,
      { agent, ...(task !== undefined && { task }) },
      event.subagentRunId,
    );
  }

  endAgent(event: Event): UIMessageChunk[] {
    const isSuspended = (event.outcome as Fields | undefined)?.type === "suspended";
    if (isSuspended) return [];
    return this.#ended(event.subagentRunId, moboxIn(event).status ?? "ok", event.result);
  }

  failAgent(event: Event): UIMessageChunk[] {
    const words = textOf(event.message) ?? "";
    const summary = WORDLESS.has(words) ? undefined : words;
    return this.#ended(event.subagentRunId, event.code ?? "error", summary);
  }

  /** A step whose name was used before. */
  subagent(fields: Fields, event: Event): UIMessageChunk[] {
    const { subagentRunId, name: agent, task, status, summary } = fields;
    if (status !== "running") return this.#ended(subagentRunId, status, summary);
    return this.#started(event, { agent, ...(task !== undefined && { task }) }, subagentRunId);
  }

  #started(event: Event, about: Fields, wire: unknown): UIMessageChunk[] {
    const id = idIn(wire);
    const { scope, background } = moboxIn(event);
    const own = listOf(scope).filter((each) => typeof each === "string");
    const senders = own.map((each) => this.names.wire(each));
    this.scopes.learn(id, senders);
    const data = {
      ...about,
      ...(background === true && { background }),
      ...(senders.length > 0 && { scope: senders }),
    };
    this.#agents.set(id, data);
    return [{ type: "data-subagent", id, data: { ...data, status: "running" } }];
  }

  #ended(wire: unknown, status: unknown, summary: unknown): UIMessageChunk[] {
    const id = idIn(wire);
    const fields = { status, ...(summary !== undefined && { summary }) };
    return [{ type: "data-subagent", id, data: { ...this.#agents.get(id), ...fields } }];
  }
}
