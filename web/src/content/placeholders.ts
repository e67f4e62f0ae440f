import { readChart } from "@/content/chartData";
import { codeRanges, type Range } from "@/content/ranges";

/**
 * `<<{…}>>` in a text is a placeholder for a chart: of a tool call's result, by its id, or of inline
 * data. Anything else stays text.
 */
type Segment = { at: number } & (
  | { kind: "text"; text: string }
  | ({ kind: "chart" } & Placeholder)
);

export interface Placeholder {
  raw: string;
  toolCallId?: string;
  title?: string;
  /** Inline data, if no tool call is named. */
  inline?: unknown;
}

const OPENING = "<<{";
const TYPES: unknown[] = [undefined, "promql", "chart", "timeseries"];
const LONGEST = 200_000;

/** While the text streams, an end that may become a placeholder is held back. */
export function segments(text: string, streaming = false): Segment[] {
  if (!text.includes(OPENING) && !(streaming && text.endsWith("<"))) {
    return [{ at: 0, kind: "text", text }];
  }
  const code = codeRanges(text, streaming);
  const found: Segment[] = [];
  let from = 0;
  let until = text.length;
  for (const { start, end, placeholder } of occurrences(text, code)) {
    if (end === undefined) {
      if (streaming) until = start;
      break;
    }
    if (!placeholder) continue;
    found.push({ at: from, kind: "text", text: text.slice(from, start) });
    found.push({ at: start, kind: "chart", ...placeholder });
    from = end;
  }
  if (streaming) until -= beginning(text, code, until);
  found.push({ at: from, kind: "text", text: text.slice(from, until) });
  return found.filter((segment) => segment.kind === "chart" || segment.text.trim());
}

/** The ranges of placeholders, into which no mark may be inserted. */
export function placeholderRanges(text: string, code: readonly Range[]): Range[] {
  return [...occurrences(text, code)].map(({ start, end }) =>
    end === undefined
      ? { start, end: text.length, kind: "whole", open: true }
      : { start, end, kind: "whole" },
  );
}

interface Occurrence {
  start: number;
  /** Undefined if the text ends first. */
  end?: number;
  placeholder?: Placeholder;
}

function* occurrences(text: string, code: readonly Range[]): Generator<Occurrence> {
  let start = text.indexOf(OPENING);
  for (; start >= 0; start = text.indexOf(OPENING, start + 1)) {
    if (isIn(code, start)) continue;
    const end = objectEnd(text, start + 2);
    if (end === undefined || (end > 0 && ["", ">"].includes(text.slice(end)))) {
      yield { start };
      return;
    }
    if (end < 0 || !text.startsWith(">>", end)) continue;
    yield { start, end: end + 2, placeholder: read(text.slice(start, end + 2)) };
    start = end;
  }
}

/** The index after the JSON object; -1 if it is invalid, undefined if the text ends first. */
function objectEnd(text: string, start: number): number | undefined {
  if (/^\{[ \t\r\n]*[^"}\s]/.test(text.slice(start, start + 200))) return -1;
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at] as string;
    if (at - start > LONGEST || (character === "\n" && (quoted || text[at + 1] === "\n")))
      return -1;
    if (quoted) {
      if (character === "\\") at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (!/[\s,:\d.+\-a-zE]/.test(character)) return -1;
  }
  return undefined;
}

function read(raw: string): Placeholder | undefined {
  try {
    const spec = JSON.parse(raw.slice(2, -2));
    const toolCallId = spec.tool_call_id ?? spec.toolCallId;
    const title = typeof spec.title === "string" ? spec.title : undefined;
    if (typeof toolCallId === "string" && TYPES.includes(spec.type)) {
      return { raw, toolCallId, title };
    }
    return readChart(spec) ? { raw, title, inline: spec } : undefined;
  } catch {
    return undefined;
  }
}

/** The number of characters at the end that may start a placeholder. */
function beginning(text: string, code: readonly Range[], until: number): number {
  const tail = /<{1,2}$/.exec(text.slice(Math.max(0, until - 2), until));
  return tail && until === text.length && !isIn(code, until - 1) ? tail[0].length : 0;
}

const isIn = (ranges: readonly Range[], at: number) =>
  ranges.some((range) => range.start <= at && at < range.end);
