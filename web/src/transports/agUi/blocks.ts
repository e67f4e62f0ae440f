import type { UIMessageChunk } from "ai";
import { type Fields, fieldsOf, listOf, numberOf, textOf } from "@/json";
import { type Event, moboxIn, type Names, type Scopes } from "@/transports/agUi/names";

type Kind = "text" | "reasoning";

interface Block {
  id: string;
  kind: Kind;
  mobox: Fields;
  open: boolean;
  empty: boolean;
  /** Citations sent so far. */
  cited: number;
}

const metadataOf = (mobox: Fields) => ({ mobox }) as never;

/** The texts, reasoning blocks and status lines of a run. */
export class Blocks {
  #blocks = new Map<string, Block>();
  #sources = 0;
  #found = 0;

  constructor(
    private readonly names: Names,
    private readonly scopes: Scopes,
  ) {}

  get isAnyOpen(): boolean {
    return [...this.#blocks.values()].some(({ open }) => open);
  }

  /** A known id is reopened only by its next delta: perhaps only its end follows. */
  start(event: Event, kind: Kind): UIMessageChunk[] {
    const wire = textOf(event.messageId) ?? "";
    if (this.#blocks.has(wire)) return [];
    const scope = this.scopes.of(event);
    const isText = kind === "text" && scope.scope === undefined;
    const received = textOf(moboxIn(event).kind);
    const workedMs = numberOf(moboxIn(event).workedMs);
    const about = isText
      ? { ...(received && { variant: received }), ...(workedMs !== undefined && { workedMs }) }
      : { variant: "thinking", ...scope, ...(kind === "text" && { said: true }) };
    const mobox = { id: this.names.block(wire), ...about };
    return this.#begin(wire, isText ? "text" : "reasoning", mobox);
  }

  more(event: Event): UIMessageChunk[] {
    const delta = this.names.ownIn(textOf(event.delta) ?? "");
    return this.#write(textOf(event.messageId) ?? "", delta);
  }

  end(event: Event): UIMessageChunk[] {
    const wire = textOf(event.messageId) ?? "";
    const citations = listOf(fieldsOf(event.metadata).citations);
    return [...this.#close(wire, moboxIn(event).durationMs), ...this.#cite(wire, citations)];
  }

  /** A status line, or the end of the status lines. */
  processing(received: Fields): UIMessageChunk[] {
    const id = textOf(received.id) ?? "";
    const line = textOf(received.line);
    if (line === undefined) return this.#close(id, received.durationMs);
    const known = this.#blocks.get(id);
    const opened = known ? [] : this.#begin(id, "reasoning", { id, variant: "processing" });
    return [...opened, ...this.#write(id, known?.empty === false ? `\n${line}` : line)];
  }

  closeAll(): UIMessageChunk[] {
    return [...this.#blocks.keys()].flatMap((wire) => this.#close(wire, undefined));
  }

  /** Sources that no text cites; each event contains all of them. */
  found(content: Fields): UIMessageChunk[] {
    const all = listOf(content.sources);
    const added = all.slice(this.#found);
    this.#found = all.length;
    return added.map((source) => this.#source(fieldsOf(source)));
  }

  /** The blocks that are missing or empty in these messages. */
  missing(messages: Map<string, Fields>): string[] {
    const gone = ([wire, block]: [string, Block]) => {
      if (!this.names.isOurs(wire)) return false;
      const message = messages.get(wire);
      return message === undefined || (!block.empty && message.content === "");
    };
    return [...this.#blocks].filter(gone).map(([, { mobox }]) => String(mobox.id));
  }

  #begin(wire: string, kind: Kind, mobox: Fields): UIMessageChunk[] {
    const block = { id: wire, kind, mobox, open: false, empty: true, cited: 0 };
    this.#blocks.set(wire, block);
    return this.#open(block);
  }

  #open(block: Block): UIMessageChunk[] {
    block.open = true;
    const { id, kind, mobox } = block;
    return [{ type: `${kind}-start`, id, providerMetadata: metadataOf(mobox) }];
  }

  #write(wire: string, delta: string): UIMessageChunk[] {
    const block = this.#blocks.get(wire);
    if (!block) return [];
    const opening = block.open ? [] : this.#open(block);
    block.empty &&= delta === "";
    return [...opening, { type: `${block.kind}-delta`, id: wire, delta }];
  }

  #close(wire: string, took: unknown): UIMessageChunk[] {
    const block = this.#blocks.get(wire);
    if (!block?.open) return [];
    block.open = false;
    if (block.kind === "text") return [{ type: "text-end", id: wire }];
    const durationMs = numberOf(took);
    const mobox = { ...block.mobox, ...(durationMs !== undefined && { durationMs }) };
    return [{ type: "reasoning-end", id: wire, providerMetadata: metadataOf(mobox) }];
  }

  #cite(wire: string, citations: unknown[]): UIMessageChunk[] {
    const block = this.#blocks.get(wire);
    if (!block) return [];
    const added = citations.slice(block.cited);
    block.cited = Math.max(block.cited, citations.length);
    return added.map((cited) => this.#source(fieldsOf(cited), block.mobox.id));
  }

  #source({ url, title, document, ...about }: Fields, owner?: unknown): UIMessageChunk {
    const sourceId = `source_${++this.#sources}`;
    const mobox = { ...(owner !== undefined && { for: owner }), ...about };
    const providerMetadata = metadataOf(mobox);
    const named = textOf(title);
    const link = textOf(url);
    if (link !== undefined) {
      const titled = named === undefined ? {} : { title: named };
      return { type: "source-url", sourceId, url: link, ...titled, providerMetadata };
    }
    const name = named ?? textOf(document) ?? textOf(about.file) ?? "Source";
    const mediaType = "text/plain"; // required by the client, and not known
    return { type: "source-document", sourceId, mediaType, title: name, providerMetadata };
  }
}
