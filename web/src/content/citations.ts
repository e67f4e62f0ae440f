import { formulaRanges, PRIVATE } from "@/content/formulas";
import { placeholderRanges } from "@/content/placeholders";
import { codeRanges, type Range, rangeAt } from "@/content/ranges";

/** A cited source. Its mark is in the text after `after` characters. */
export interface Source {
  id: string;
  /** The number on its mark. */
  number: number;
  title: string;
  url?: string;
  citedText?: string;
  after?: number;
}

/**
 * Marks pass through Markdown as text: a character that is removed from agents' texts (`withoutMarks`),
 * so that they cannot forge one, between two brackets that Markdown reads as punctuation, so that
 * emphasis beside a mark stays emphasis.
 */
const SECRET = "\uee91";
const BEGIN = `\u2045${SECRET}`;
const END = "\u2046";
export const MARK = new RegExp(`${BEGIN}(\\d{1,6})${END}`, "g");

/** The text without mark characters, at the same length. */
const withoutMarks = (text: string): string => text.replace(PRIVATE, "\ufffd");

/**
 * Tokens that must not be split: links, URLs, escapes, tags, runs of emphasis, surrogate pairs.
 *
 * The text is untrusted, so no regular expression here may be ambiguous: that would allow
 * exponential backtracking.
 */
const WHOLE = new RegExp(
  [
    String.raw`\\[!-/:-@[-\`{-~]`,
    String.raw`!?\[(?:[^[\]\\\n]|\\.|\[[^[\]\n]*\])*\](?:\((?:[^()\n\\]|\\.|\([^()\n]*\))*\)|\[[^[\]\n]*\])`,
    String.raw`<[^<>\s][^<>\n]*>`,
    String.raw`(?<url>\b(?:https?:\/\/|www\.)[^\s<]+)`,
    String.raw`&#?\w{1,32};`,
    String.raw`([*_~])\2+`,
    String.raw`[\ud800-\udbff][\udc00-\udfff]`,
  ].join("|"),
  "g",
);
/** A line that contains only block syntax, up to the offset. */
const BARE =
  /^(?:[\s>|:\-=*_+#]*|[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s*)?(?:\[[ xX]\])?|\s{0,3}\[[^\]\n]+\]:.*)$/;

/** Inserts the marks of these sources into the text. */
export function withMarks(
  text: string,
  marks: readonly Pick<Source, "number" | "after">[],
): string {
  const plain = withoutMarks(text);
  const wanted = marks.filter((mark) => mark.after !== undefined && Number.isInteger(mark.number));
  if (!wanted.length) return plain;
  const ranges = wholeRanges(plain);
  const places = new Map<number, Set<number>>();
  for (const { number, after } of wanted) {
    const at = place(plain, after as number, ranges);
    if (at !== undefined) places.set(at, (places.get(at) ?? new Set()).add(number));
  }
  let written = plain;
  for (const [at, numbers] of [...places].sort(([a], [b]) => b - a)) {
    const mark = [...numbers].map((number) => BEGIN + number + END).join("");
    written = written.slice(0, at) + framed(mark, at, ranges) + written.slice(at);
  }
  return written;
}

/** After a fence a mark is a paragraph; after a bare URL a space separates it. */
function framed(mark: string, at: number, ranges: readonly Range[]): string {
  const kind = ranges.find((range) => range.end === at)?.kind;
  if (kind === "fence") return `\n\n${mark}\n`;
  return kind === "url" ? ` ${mark}` : mark;
}

/** The position for a mark at this offset; undefined if that text has not arrived yet. */
function place(text: string, offset: number, ranges: readonly Range[]): number | undefined {
  const around = rangeAt(ranges, clamp(offset, text.length));
  if (around?.open) return undefined;
  const wish = around ? around.end : clamp(offset, text.length);
  const at = lastWord(text, wish, ranges);
  return at > 0 ? at : lineEnd(text, wish);
}

/** Moves back over spaces and over lines that a mark would break. */
function lastWord(text: string, from: number, ranges: readonly Range[]): number {
  let at = from;
  while (at > 0) {
    at = back(text, at, /\s/);
    if (ranges.some((range) => range.kind === "fence" && range.end === at)) return at;
    const start = text.lastIndexOf("\n", at - 1) + 1;
    const line = text.slice(start, at);
    if (!BARE.test(line)) return inRow(line) ? back(text, at, /[\s|]/) : at;
    at = start;
  }
  return 0;
}

function back(text: string, from: number, over: RegExp): number {
  let at = from;
  while (at > 0 && over.test(text[at - 1] as string)) at -= 1;
  return at;
}

const inRow = (line: string): boolean => /^[\s>]*\|.*\|$/.test(line);
const clamp = (offset: number, most: number) => Math.max(0, Math.min(Math.trunc(offset), most));

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function wholeRanges(text: string): Range[] {
  const code = codeRanges(text);
  const inside = (at: number) => code.some((range) => range.start <= at && at < range.end);
  const others = [...text.matchAll(WHOLE)].flatMap((match): Range[] => {
    const kind = match.groups?.url ? "url" : "whole";
    const range = { start: match.index, end: match.index + match[0].length, kind } as const;
    return inside(range.start) ? [] : [range];
  });
  return [...code, ...formulaRanges(text, code), ...placeholderRanges(text, code), ...others];
}
