/** The cards of agents that were sent by others, and where they stand. */

import { type Fields, textOf } from "@/json";
import type { Block, CallState, SubagentBlock, ToolBlock } from "@/parts/blocks";
import { going, readTool } from "@/parts/calls";
import type { Facts } from "@/parts/facts";
import { moreInput, tellOnce } from "@/parts/reports";
import { strings } from "@/strings";

/** Cards stand in cards as deep as this; what is deeper names the way to it instead. */
const DEEPEST = 2;

const STATES: Record<string, CallState> = {
  running: "running",
  ok: "done",
  error: "failed",
  denied: "denied",
  interrupted: "stopped",
};

export class Subagents {
  #cards = new Map<string, SubagentBlock>();
  #calls = new Map<SubagentBlock, ToolBlock>();

  constructor(
    private readonly root: Block[],
    private readonly facts: Facts,
    private readonly key: (id: string) => string,
  ) {}

  /** Where the blocks go of the agent who speaks in this scope. */
  listOf(scope: string[]): Block[] {
    return scope.length === 0 ? this.root : this.card(scope).blocks;
  }

  /** The card of the agent whose scope this is; a part may come before anybody told of it. */
  card(scope: string[]): SubagentBlock {
    const id = scope.at(-1) ?? "";
    const known = this.#cards.get(id);
    if (known) return known;
    const container = this.listOf(scope.slice(0, Math.min(scope.length, DEEPEST) - 1));
    const card = this.#make(id, scope);
    this.#cards.set(id, card);
    container.push(card);
    return card;
  }

  /** The call that sent an agent is the head of its card. */
  sent(scope: string[], call: ToolBlock): void {
    const card = this.card(scope);
    this.#calls.set(card, call);
    card.more = moreInput(call.input, this.facts.subagents.get(call.callId) ?? {});
  }

  finish(): void {
    for (const card of this.#cards.values()) tellOnce(card, this.#calls.get(card));
  }

  #make(id: string, scope: string[]): SubagentBlock {
    const told = this.facts.subagents.get(id) ?? {};
    const task = textOf(told.task);
    const summary = textOf(told.summary);
    return {
      kind: "subagent",
      key: this.key(id),
      made: [id],
      trail: scope.slice(scope.length > DEEPEST ? DEEPEST - 1 : -1).map(this.#name),
      ...(task && { task }),
      more: [],
      background: told.background === true,
      state: this.#state(id, told),
      ...(summary && { summary }),
      blocks: [],
    };
  }

  #name = (id: string): string => {
    const call = this.facts.calls.get(id);
    return (
      textOf(this.facts.subagents.get(id)?.agent) ??
      textOf((call as Fields | undefined)?.toolName) ??
      strings.parts.subagent
    );
  };

  #state(id: string, told: Fields): CallState {
    const status = textOf(told.status);
    const call = this.facts.calls.get(id);
    if (status !== undefined) {
      const state = STATES[status] ?? "done";
      return state === "running" ? going("running", this.facts) : state;
    }
    return call ? readTool(call, "", this.facts).state : going("running", this.facts);
  }
}
