/**
 * Joined text parts, and the sources that they cite.
 *
 * A provider may split a sentence into parts, one per citation: they are one flow of Markdown. A
 * source names its part, not the position in it: that is the end of the cited text, if the part contains
 * it, else the end of the part.
 */
import type { Source } from "@/content/citations";
import { type Fields, fieldsOf, numberOf, textOf } from "@/json";
import type { Block, SourceItem, SourcesBlock, TextBlock } from "@/parts/blocks";
import type { Facts } from "@/parts/facts";
import { moboxOf, namesOf, type Part } from "@/parts/wire";
import { strings } from "@/strings";

interface Piece {
  id: string | undefined;
  text: string;
  tone: TextBlock["tone"];
  active: boolean;
  workedMs?: number;
  key: () => string;
}

interface Segment {
  flow: TextBlock;
  start: number;
  text: string;
  active: boolean;
}

/** The id of a cited source, unique on the page. */
const citedName = (messageId: string, number: number) => `${messageId}-${number}`;

interface Cited {
  item: SourceItem;
  number: number;
}

export class Flows {
  #segments = new Map<string, Segment>();
  #sources: Part[] = [];
  #broken = new Set<Block[]>();

  constructor(private readonly messageId: string) {}

  /** Starts a new paragraph, though nothing is shown in between. */
  breakOff(list: Block[]): void {
    this.#broken.add(list);
  }

  source(part: Part): void {
    this.#sources.push(part);
  }

  text(list: Block[], piece: Piece): void {
    const last = list.at(-1);
    const joins = last?.kind === "text" && last.tone === piece.tone;
    if (!joins && piece.text.trim() === "") return;
    const flow = joins ? last : begin(list, piece);
    const isApart = joins && this.#broken.has(list) && piece.text.trim() !== "";
    if (isApart && !flow.text.endsWith("\n\n")) flow.text += "\n\n";
    if (piece.text.trim() !== "") this.#broken.delete(list);
    const start = flow.text.length;
    flow.text += piece.text;
    flow.active = piece.active;
    if (piece.id === undefined) return;
    flow.made = [...(flow.made ?? []), piece.id];
    this.#segments.set(piece.id, { flow, start, text: piece.text, active: piece.active });
  }

  /** Inserts the marks into the flows; returns the list of sources, if any. */
  finish(facts: Facts): SourcesBlock | undefined {
    const cited = new Map<string, Cited>();
    const found = new Map<string, SourceItem>();
    for (const part of this.#sources) {
      const owner = textOf(moboxOf(part).for) ?? "";
      if (facts.retracted.has(owner)) continue;
      const segment = this.#segments.get(owner);
      if (segment) this.#cite(part, segment, cited);
      else collect(found, part);
    }
    for (const name of cited.keys()) found.delete(name);
    if (cited.size + found.size === 0) return undefined;
    return {
      kind: "sources",
      key: `${this.messageId}/sources`,
      made: this.#sources.flatMap(namesOf),
      cited: [...cited.values()].map(({ item }) => item),
      found: [...found.values()],
    };
  }

  #cite(part: Part, segment: Segment, cited: Map<string, Cited>) {
    const name = nameOf(part);
    const known = cited.get(name) ?? this.#first(part, cited.size + 1);
    cited.set(name, known);
    const quote = textOf(moboxOf(part).citedText);
    if (quote && !known.item.quotes.includes(quote)) known.item.quotes.push(quote);
    const after = placeIn(segment, quote);
    if (after === undefined) return;
    const mark: Source = {
      number: known.number,
      after,
      id: known.item.id ?? "",
      title: known.item.title,
      ...(known.item.url && { url: known.item.url }),
      ...(quote && { citedText: quote }),
    };
    const { citations } = segment.flow;
    if (!citations.some((other) => other.number === mark.number && other.after === after))
      citations.push(mark);
  }

  #first(part: Part, number: number): Cited {
    return { number, item: { id: citedName(this.messageId, number), ...itemOf(part) } };
  }
}

function begin(list: Block[], { tone, key, workedMs }: Piece): TextBlock {
  const flow: TextBlock = {
    kind: "text",
    key: key(),
    text: "",
    tone,
    active: false,
    citations: [],
    ...(workedMs !== undefined && { workedMs }),
  };
  list.push(flow);
  return flow;
}

/** Undefined while the part still grows. */
function placeIn({ start, text, active }: Segment, quote: string | undefined): number | undefined {
  const at = quote ? text.indexOf(quote) : -1;
  if (at >= 0 && quote) return start + at + quote.length;
  return active ? undefined : start + text.trimEnd().length;
}

function collect(found: Map<string, SourceItem>, part: Part): void {
  const name = nameOf(part);
  const item = found.get(name) ?? itemOf(part);
  found.set(name, item);
  const quote = textOf(moboxOf(part).citedText);
  if (quote && !item.quotes.includes(quote)) item.quotes.push(quote);
}

function nameOf(part: Part): string {
  const fields = part as unknown as Fields;
  const place = placeOf(part);
  return textOf(fields.url) ?? `${textOf(fields.title)} ${textOf(moboxOf(part).file)} ${place}`;
}

function itemOf(part: Part): SourceItem {
  const fields = part as unknown as Fields;
  const url = textOf(fields.url);
  const place = placeOf(part);
  return {
    title: textOf(fields.title) || textOf(fields.filename) || url || strings.parts.source,
    ...(url && { url }),
    ...(place && { place }),
    quotes: [],
  };
}

function placeOf(part: Part): string | undefined {
  const location = fieldsOf(moboxOf(part).location);
  const page = numberOf(location.page) ?? numberOf(location.start_page_number);
  return page === undefined ? undefined : strings.parts.page(page);
}
