/**
 * Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.
 *
 * Rule 1: a formula passes through Markdown as one word of private characters, so that its `_`, `*` and
 *         `|` mean nothing there. `safe.ts` makes an element of the word; in code and in addresses the
 *         source is put back.
 * Rule 2: money is not maths: `$5 and $6`, `US$5`, `$HOME/$PATH` stay text.
 * Rule 3: while a text streams, an unfinished formula is not shown as its source: that would flicker.
 * Rule 4: every search is bounded: the text is untrusted.
 */
import { codeRanges, type Range } from "@/content/ranges";

export type FormulaKind = "inline" | "display";
interface Formula {
  start: number;
  end: number;
  kind: FormulaKind;
  tex: string;
}

/** Characters that agents' texts must not contain: they carry formulas and marks through Markdown. */
export const PRIVATE = /[\uee00-\uee9f]/g;
const SHIFT = 0xee00;
const OPEN: Record<FormulaKind | "pending", string> = {
  inline: "\uee93",
  display: "\uee94",
  pending: "\uee95",
};
const CLOSE = "\uee96";
export const FORMULA = /([\uee93-\uee95])([^\uee96]*)\uee96/g;
const KINDS = new Map(Object.entries(OPEN).map(([kind, mark]) => [mark, kind]));

/** Maximum characters of one formula, and formulas of one text; what is above stays text. */
const LONGEST = 4_000;
const LONGEST_INLINE = 1_000;
const MOST = 1_000;

/** The kind of a formula's word in a text node. */
export const kindOf = (mark: string | undefined) => KINDS.get(mark ?? "") ?? "inline";

/** The source of all formulas, where Markdown found something else than text around them. */
export const withSources = (text: string): string =>
  text.replace(FORMULA, (_, _mark, hidden: string) => shown(hidden));

export const shown = (hidden: string): string =>
  hidden.replace(/[\uee00-\uee7f]/g, (c) => String.fromCharCode(c.charCodeAt(0) - SHIFT));

const hidden = (source: string): string =>
  source.replace(/[\0-\x7f]/g, (c) => String.fromCharCode(c.charCodeAt(0) + SHIFT));

/** The formula in its delimiters. */
export function texOf(source: string): string {
  const size = /^\$(?!\$)/.test(source) ? 1 : 2;
  return source.slice(size, -size).trim();
}

/** Hides the formulas of a text from Markdown. */
export function withFormulas(text: string, streaming = false): string {
  if (!/[$\\]/.test(text)) return text;
  const code = codeRanges(text, streaming);
  const found = formulas(text, code);
  let written = "";
  let from = 0;
  for (const { start, end, kind, tex } of found) {
    written += text.slice(from, start) + OPEN[kind] + hidden(tex) + CLOSE;
    from = end;
  }
  const rest = text.slice(from);
  const isCode = code.at(-1)?.open;
  return written + (streaming && !isCode ? withoutUnfinished(rest) : rest);
}

/** The ranges of formulas, in which no mark may be put. */
export const formulaRanges = (text: string, code: readonly Range[]): Range[] =>
  /[$\\]/.test(text)
    ? formulas(text, code).map(({ start, end }) => ({ start, end, kind: "whole" }))
    : [];

const TOKEN = /\\[\s\S]|\$\$?|(?:https?:\/\/|www\.)[^\s<]+/g;
const CLOSERS: Record<string, string> = { "\\(": "\\)", "\\[": "\\]", $$: "$$", $: "$" };

function formulas(text: string, code: readonly Range[]): Formula[] {
  const found: Formula[] = [];
  const closers = new Closers(text);
  const tokens = new RegExp(TOKEN);
  let range = 0;
  for (let token = tokens.exec(text); token && found.length < MOST; token = tokens.exec(text)) {
    const { index } = token;
    while (range < code.length && (code[range] as Range).end <= index) range += 1;
    const inside = code[range];
    if (inside && inside.start <= index) {
      tokens.lastIndex = inside.end;
      continue;
    }
    const close = CLOSERS[token[0]];
    const end = close ? closers.next(close, index + token[0].length) : -1;
    if (!close || end < 0 || end - index > LONGEST || (inside && inside.start < end)) continue;
    const formula = judged(text, index, end + close.length, token[0]);
    if (!formula) {
      // A single dollar may close nothing here and open the next one.
      tokens.lastIndex = index + token[0].length;
      continue;
    }
    found.push(formula);
    tokens.lastIndex = formula.end;
  }
  return found;
}

/** Finds the next closing delimiter, and each only once. */
class Closers {
  #found = new Map<string, number>();

  constructor(private readonly text: string) {}

  next(close: string, from: number): number {
    const known = this.#found.get(close);
    if (known !== undefined && (known < 0 || known >= from)) return known;
    let at = this.text.indexOf(close, from);
    while (at >= 0 && isEscaped(this.text, at)) at = this.text.indexOf(close, at + 1);
    this.#found.set(close, at);
    return at;
  }
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

/** The formula between two delimiters, unless it is something else. */
function judged(text: string, start: number, end: number, open: string): Formula | undefined {
  const source = text.slice(start, end);
  const inner = source.slice(open.length, -open.length);
  if (!inner.trim()) return undefined;
  const around = { before: text[start - 1] ?? "\n", after: text[end] ?? "\n" };
  if (!JUDGES[open]?.(inner, around, lineBefore(text, start))) return undefined;
  const isDisplay = open === "\\[" || (open === "$$" && isAlone(text, start, end, inner));
  const tex = lineBefore(text, start).includes(">")
    ? source.replace(/\n[ \t]*>+ ?/g, "\n")
    : source;
  return { start, end, kind: isDisplay ? "display" : "inline", tex };
}

interface Around {
  before: string;
  after: string;
}
const TEX = /[\\^_{}=<>+]/;
const BLANK_LINE = /\n[ \t>]*\n/;
/** Two words one after the other, without a command: a sentence. */
const PROSE = /(?:^|[^\\a-z])[a-z]{2,}[,;:]?\s+[a-z]{2,}/i;
const isProse = (tex: string) => !tex.includes("\\") && PROSE.test(tex);
const isShort = (tex: string) => tex.length <= LONGEST_INLINE && !BLANK_LINE.test(tex);

const JUDGES: Record<string, (tex: string, around: Around, before: string) => boolean> = {
  $: (tex, { before, after }) =>
    isShort(tex) &&
    !/[\w$]/.test(before) &&
    !/\d/.test(after) &&
    !tex.includes("`") &&
    (tex.match(/\n/g)?.length ?? 0) <= 1 &&
    (tex.trim() === tex || tex.includes("\\")) &&
    !isProse(tex) &&
    (!/[a-z]/i.test(after) || tex.length === 1 || /[\\^_{}]/.test(tex)),
  $$: (tex, { before }) => before !== "$" && !BLANK_LINE.test(tex) && !isProse(tex),
  "\\(": (tex) => isShort(tex) && !isProse(tex),
  "\\[": (tex, { after }, before) =>
    after !== "(" && (TEX.test(tex) || (/^[\s>*+-]*$/.test(before) && !isProse(tex))),
};

/** What is before it in its line; of a long line the end, which says enough. */
function lineBefore(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - 100), at);
  return before.slice(before.lastIndexOf("\n") + 1);
}

/** Whether nothing else is in its lines. */
function isAlone(text: string, start: number, end: number, inner: string): boolean {
  if (inner.includes("\n")) return true;
  const newline = text.indexOf("\n", end);
  const after = text.slice(end, newline < 0 ? text.length : newline);
  return /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?$/.test(lineBefore(text, start)) && !after.trim();
}

const UNFINISHED = [
  // A display formula: a place for it is kept.
  { open: /(?:^|\n)[ \t>]*(\$\$|\\\[)(?![\s\S]*\n[ \t>]*\n)[\s\S]{0,4000}$/, pending: true },
  { open: /(\\\()(?![\s\S]*\n[ \t>]*\n)[^\n]{0,1000}$/, pending: false },
  // One dollar: as long as it is a word, or looks like TeX.
  { open: /(?<![\w$\\])(\$)(?!\d)(?:[^\s$`]{0,12}|[^\s$`\n][^$`\n]*[\\^_{}=][^$`\n]{0,1000})$/ },
  { open: /(?<!\\)(\\)$/ },
];

/** A streaming text without the formula that has begun at its end. */
function withoutUnfinished(text: string): string {
  const tail = text.slice(-LONGEST);
  for (const { open, pending } of UNFINISHED) {
    const match = open.exec(tail);
    if (!match) continue;
    const at = text.length - tail.length + match.index + match[0].indexOf(match[1] as string);
    return text.slice(0, at) + (pending ? OPEN.pending + CLOSE : "");
  }
  return text;
}
