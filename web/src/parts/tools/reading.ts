/** Readers of tools' inputs and outputs. All of it is untrusted. */
import { type Fields, fieldsOf, isFields, listOf, numberOf, parsed, textOf } from "@/json";

const LONGEST = 1_000_000;

/** The first of these members that is a text. */
export function textIn(fields: Fields, ...names: string[]): string | undefined {
  return names.map((name) => textOf(fields[name])).find((text) => text !== undefined);
}

/** JSON in a text, if it is some. */
export function dataIn(output: unknown): unknown {
  if (typeof output !== "string" || !/^\s*[[{]/.test(output) || output.length > LONGEST)
    return output;
  return parsed(output) ?? output;
}

/** A text, or the texts of content parts. */
export function proseIn(output: unknown): string | undefined {
  if (typeof output === "string") return output;
  const texts = listOf(output).map((part) =>
    isFields(part) &&
    (part.type === undefined || part.type === "text" || part.type === "output_text")
      ? textOf(part.text)
      : undefined,
  );
  return texts.length > 0 && texts.every((text) => text !== undefined)
    ? texts.join("\n\n")
    : undefined;
}

export interface Ran {
  output: string;
  exitCode?: number;
}

/** DeepAgents and others write the exit code below the output. */
const EXIT = /(?:^|\n)\[?(?:command (?:succeeded|failed) with )?exit code:? (-?\d{1,5})\]?\s*$/i;

/** The output of a program; undefined if it has another form. */
export function ranIn(output: unknown): Ran | undefined {
  const value = dataIn(output);
  const text = proseIn(value);
  if (text !== undefined) {
    const end = EXIT.exec(text.slice(-200));
    if (!end) return { output: withoutEscapes(text) };
    // The code is shown beside the output.
    return {
      output: withoutEscapes(text.slice(0, text.length - end[0].length)),
      exitCode: Number(end[1]),
    };
  }
  const fields = fieldsOf(value);
  const streams = ["stdout", "stderr", "output"].map((name) => textOf(fields[name]));
  if (!streams.some((stream) => stream !== undefined)) return undefined;
  const code = ["exit_code", "exitCode", "returncode", "return_code"]
    .map((name) => numberOf(fields[name]))
    .find((each) => each !== undefined);
  return {
    output: withoutEscapes(streams.filter(Boolean).join("\n")),
    ...(code !== undefined && { exitCode: code }),
  };
}

/** Sequences that control a terminal, and other control characters but tabs and line ends. */
const ESCAPES = new RegExp(
  [
    "\\x1b\\[[0-?]*[ -/]*[@-~]",
    "\\x1b\\][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)?",
    "\\x1b[@-_]",
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]",
  ].join("|"),
  "g",
);

/** Text without the codes that control a terminal; the terminal pane follows them. */
export const withoutEscapes = (text: string): string => text.replace(ESCAPES, "");

export interface Found {
  title: string;
  url: string;
  text?: string;
}

const LISTS = ["results", "sources", "items", "data", "organic", "organic_results", "webPages"];
const MOST_FOUND = 100;

/** The pages in the output of a search; undefined if there are none, or other things, too. */
export function foundIn(output: unknown): Found[] | undefined {
  const value = dataIn(output);
  const list = Array.isArray(value)
    ? value
    : LISTS.map((name) => fieldsOf(value)[name]).find(Array.isArray);
  if (!list || list.length === 0) return undefined;
  const found = list.slice(0, MOST_FOUND).map((each) => pageIn(fieldsOf(each)));
  return found.every((each) => each !== undefined) ? (found as Found[]) : undefined;
}

function pageIn(fields: Fields): Found | undefined {
  const url = textIn(fields, "url", "link", "href", "uri");
  if (url === undefined) return undefined;
  const text = textIn(fields, "snippet", "content", "description", "text", "body");
  return { url, title: textIn(fields, "title", "name") ?? url, ...(text && { text }) };
}

export interface Grid {
  columns: string[];
  rows: unknown[][];
}

const MOST_COLUMNS = 20;

/** Rows of plain values: a list of similar objects, or columns and rows. */
export function gridIn(output: unknown): Grid | undefined {
  const value = dataIn(output);
  const { columns, rows } = fieldsOf(value);
  if (Array.isArray(columns) && Array.isArray(rows) && rows.every(Array.isArray))
    return { columns: columns.map(String), rows };
  const list = Array.isArray(value) ? value : rows;
  if (!Array.isArray(list) || list.length < 2 || !list.every(isFlat)) return undefined;
  const names = [...new Set(list.slice(0, 100).flatMap((row) => Object.keys(row)))];
  const first = Object.keys(list[0] as Fields);
  if (names.length === 0 || names.length > MOST_COLUMNS || names.length > 2 * first.length)
    return undefined;
  return { columns: names, rows: list.map((row) => names.map((name) => row[name])) };
}

const isFlat = (row: unknown): row is Fields =>
  isFields(row) && Object.values(row).every((value) => typeof value !== "object" || value === null);

export interface Line {
  number: number;
  text: string;
}

const NUMBERED = /^\s*(\d{1,7})(?:\t|→|\| ?)(.*)$/;

/** The lines of a file; tools may have numbered them already. */
export function linesIn(text: string, first = 1): Line[] {
  const lines = text.replace(/\n$/, "").split("\n");
  const read = lines.map((line) => NUMBERED.exec(line));
  if (read.every((match) => match !== null))
    return read.map((match) => ({ number: Number(match?.[1]), text: match?.[2] ?? "" }));
  return lines.map((line, place) => ({ number: first + place, text: line }));
}
