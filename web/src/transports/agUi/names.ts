import { type Fields, fieldsOf, textOf } from "@/json";

/** An event of AG-UI, checked by its own client. */
export type Event = { type: string } & Fields;

/** Mobox's metadata of an event, a message or a call. */
export const moboxIn = (fields: unknown): Fields =>
  fieldsOf(fieldsOf(fieldsOf(fields).metadata).mobox);

/** The id of a call, a subagent or a request: the same in the AI SDK's protocol. */
export const idIn = (wire: unknown): string => textOf(wire) ?? "";

/** Ids on the wire are prefixed with the run's id; in the AI SDK's protocol those of texts are not. */
export class Names {
  constructor(readonly run: string) {}

  own(wire: unknown): string {
    const name = textOf(wire) ?? "";
    const prefix = `${this.run}:`;
    return name.startsWith(prefix) ? name.slice(prefix.length) : name;
  }

  /** The block of a message; a reopened block is a new message. */
  block(wire: unknown): string {
    return this.own(wire).replace(/@\d+$/, "");
  }

  /** A text delta whose placeholders refer to the agent's own call ids; placeholders are never split. */
  ownIn(piece: string): string {
    return piece.includes("<<{") ? piece.replaceAll(`"${this.run}:`, '"') : piece;
  }

  wire(own: string): string {
    return `${this.run}:${own}`;
  }

  isOurs(wire: unknown): boolean {
    return textOf(wire)?.startsWith(`${this.run}:`) ?? false;
  }
}

/** The scope of events: the calls that spawned each agent, outermost first. */
export class Scopes {
  #known = new Map<string, string[]>();

  /** A subagent was started in a scope. */
  learn(agent: string, scope: string[]): void {
    this.#known.set(agent, scope);
  }

  /** The event's scope as a member of `mobox`; empty for the root agent. */
  of({ subagentRunId }: Fields): { scope?: string[] } {
    if (textOf(subagentRunId) === undefined) return {};
    const agent = idIn(subagentRunId);
    return { scope: [...(this.#known.get(agent) ?? []), agent] };
  }
}
