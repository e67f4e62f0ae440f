/** The code ranges of Markdown, which contain no placeholders and no marks. */
export interface Range {
  start: number;
  end: number;
  kind: "fence" | "span" | "url" | "whole";
  /** Unclosed: extends to the end of the text. */
  open?: boolean;
}

const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/;

/** Fences and code spans, in order. `streaming`: includes a span that is not closed yet. */
export function codeRanges(text: string, streaming = false): Range[] {
  if (!text.includes("`") && !text.includes("~~~")) return [];
  const ranges: Range[] = [];
  let from = 0;
  for (const fence of fences(text)) {
    ranges.push(...spans(text, from, fence.start, false), fence);
    from = fence.end;
  }
  if (!ranges.at(-1)?.open) ranges.push(...spans(text, from, text.length, streaming));
  return ranges;
}

function* fences(text: string): Generator<Range> {
  let open: { start: number; mark: string } | undefined;
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const [, mark, rest = ""] = FENCE.exec(text.slice(start, end)) ?? [];
    if (mark && !open) {
      if (mark[0] === "~" || !rest.includes("`")) open = { start, mark };
    } else if (mark && open && mark.startsWith(open.mark) && !rest.trim()) {
      yield { start: open.start, end, kind: "fence" };
      open = undefined;
    }
    start = end + 1;
  }
  if (open) yield { start: open.start, end: text.length, kind: "fence", open: true };
}

function spans(text: string, from: number, to: number, streaming: boolean): Range[] {
  const ranges: Range[] = [];
  const part = text.slice(from, to);
  const ticks = /`+/g;
  for (let run = ticks.exec(part); run; run = ticks.exec(part)) {
    if (isEscaped(part, run.index)) {
      ticks.lastIndex = run.index + 1;
      continue;
    }
    const end = spanEnd(part, run.index, run[0].length);
    if (end > 0) {
      ranges.push({ start: from + run.index, end: from + end, kind: "span" });
      ticks.lastIndex = end;
    } else if (streaming && !part.includes("\n\n", run.index)) {
      ranges.push({ start: from + run.index, end: to, kind: "span", open: true });
      break;
    }
  }
  return ranges;
}

/** The index after the closing run of as many backticks, in the same paragraph. */
function spanEnd(text: string, start: number, length: number): number {
  const blank = text.indexOf("\n\n", start);
  const ticks = /`+/g;
  ticks.lastIndex = start + length;
  for (let run = ticks.exec(text); run; run = ticks.exec(text)) {
    if (blank >= 0 && run.index > blank) break;
    if (run[0].length === length) return run.index + length;
  }
  return -1;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

/** The range that contains this position; its start and end are outside. */
export const rangeAt = (ranges: readonly Range[], at: number): Range | undefined =>
  ranges.find((range) => range.start < at && (at < range.end || (range.open && at <= range.end)));
