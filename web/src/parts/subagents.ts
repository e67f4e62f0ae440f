/** The cards of subagents and their positions. */

import { type Fields, textOf } from "@/json";
import type { Block, CallState, SubagentBlock, ToolBlock } from "@/parts/blocks";
import { going, readTool } from "@/parts/calls";
import type { Facts } from "@/parts/facts";
import { moreInput, removeRepeated } from "@/parts/reports";
import { strings } from "@/strings";

/** Maximum depth of nested cards; deeper ones show their path instead. */
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

  /** The list for the blocks of this scope. */
  listOf(scope: string[]): Block[] {
    return scope.length === 0 ? this.root : this.card(scope).blocks;
  }

  /** The card of this scope's agent; a part may come before the agent is announced. */
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

  /** The call that started an agent is the header of its card. */
  sent(scope: string[], call: ToolBlock): void {
    const card = this.card(scope);
    this.#calls.set(card, call);
    card.more = moreInput(call.input, this.facts.subagents.get(call.callId) ?? {});
  }

  finish(): void {
    for (const card of this.#cards.values()) removeRepeated(card, this.#calls.get(card));
  }

  #make(id: string, scope: string[]): SubagentBlock {
    const fields = this.facts.subagents.get(id) ?? {};
    const task = textOf(fields.task);
    const summary = textOf(fields.summary);
    return {
      kind: "subagent",
      key: this.key(id),
      made: [id],
      trail: scope.slice(scope.length > DEEPEST ? DEEPEST - 1 : -1).map(this.#name),
      ...(task && { task }),
      more: [],
      background: fields.background === true,
      state: this.#state(id, fields),
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

  #state(id: string, fields: Fields): CallState {
    const status = textOf(fields.status);
    const call = this.facts.calls.get(id);
    if (status !== undefined) {
      const state = STATES[status] ?? "done";
      return state === "running" ? going("running", this.facts) : state;
    }
    return call ? readTool(call, "", this.facts).state : going("running", this.facts);
  }
}
