/** Rows and columns of a table that are shown. */
export const MOST_ROWS = 500;
export const MOST_COLUMNS = 60;

export interface Table {
  rows: string[][];
  /** Whether there is more than `rows`. */
  isCut: boolean;
}

/** Reads CSV (RFC 4180), or text with tabs or semicolons; stops where enough is read. */
export function readTable(text: string, separator = separatorOf(text)): Table {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length) {
    const [cell, end] = text[at] === '"' ? quoted(text, at, separator) : plain(text, at, separator);
    row.push(cell);
    at = end + 1;
    if (text[end] === separator && at < text.length) continue;
    if (text[end] === "\r" && text[at] === "\n") at += 1;
    rows.push(row);
    row = [];
    if (rows.length > MOST_ROWS) break;
  }
  const shown = rows.slice(0, MOST_ROWS).map((cells) => cells.slice(0, MOST_COLUMNS));
  const isCut = rows.length > MOST_ROWS || rows.some((cells) => cells.length > MOST_COLUMNS);
  return { rows: shown.filter((cells) => cells.some(Boolean)), isCut };
}

function plain(text: string, from: number, separator: string): [string, number] {
  let end = from;
  while (end < text.length && text[end] !== separator && !/[\r\n]/.test(text[end] as string))
    end += 1;
  return [text.slice(from, end), end];
}

/** A quoted cell; what follows its quote before the separator belongs to nothing. */
function quoted(text: string, from: number, separator: string): [string, number] {
  let end = text.indexOf('"', from + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  if (end < 0) return [text.slice(from + 1).replaceAll('""', '"'), text.length];
  const [, after] = plain(text, end + 1, separator);
  return [text.slice(from + 1, end).replaceAll('""', '"'), after];
}

function separatorOf(text: string): string {
  const line = text.slice(0, 2_000).split(/\r?\n/, 1)[0] ?? "";
  const counts = [",", "\t", ";"].map((mark) => [mark, line.split(mark).length] as const);
  return counts.reduce((best, next) => (next[1] > best[1] ? next : best))[0];
}
