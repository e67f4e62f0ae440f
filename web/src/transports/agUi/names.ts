import { type Fields, fieldsOf, textOf } from "@/json";

/** An event of AG-UI, checked by its own client. */
export type Event = { type: string } & Fields;

/** What Mobox says of an event, a message or a call. */
export const moboxIn = (told: unknown): Fields => fieldsOf(fieldsOf(fieldsOf(told).metadata).mobox);

/** An id on the wire has its run's in front. */
export class Names {
  constructor(readonly run: string) {}

  own(wire: unknown): string {
    const name = textOf(wire) ?? "";
    const prefix = `${this.run}:`;
    return name.startsWith(prefix) ? name.slice(prefix.length) : name;
  }

  /** The block of a message: one that is opened again is a message of its own. */
  block(wire: unknown): string {
    return this.own(wire).replace(/@\d+$/, "");
  }

  /** A piece of text whose placeholders name calls as the agent does; they come whole. */
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

/** Who speaks: the calls that spawned each agent, outermost first. */
export class Scopes {
  #known = new Map<string, string[]>();

  constructor(private readonly names: Names) {}

  /** An agent was started, in a scope. */
  learn(agent: string, scope: string[]): void {
    this.#known.set(agent, scope);
  }

  /** As a member of `mobox`, for what this event tells; nothing where the root agent speaks. */
  of({ subagentRunId }: Fields): { scope?: string[] } {
    if (textOf(subagentRunId) === undefined) return {};
    const agent = this.names.own(subagentRunId);
    return { scope: [...(this.#known.get(agent) ?? []), agent] };
  }
}
