/** Differences between two texts, line by line, as a unified diff without positions. */

/** Comparing takes lines times lines; longer texts are shown as removed and added. */
const MOST = 400;

export function diffOf(before: string, after: string): string {
  const old = linesOf(before);
  const now = linesOf(after);
  if (old.length > MOST || now.length > MOST)
    return [...marked("-", old), ...marked("+", now)].join("\n");
  return walk(old, now, lengths(old, now)).join("\n");
}

const linesOf = (text: string): string[] =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n");
const marked = (mark: string, lines: string[]) => lines.map((line) => `${mark} ${line}`);

/** The length of the longest common subsequence from each pair of lines on. */
function lengths(old: string[], now: string[]): number[][] {
  const table = Array.from({ length: old.length + 1 }, () => new Array(now.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      (table[i] as number[])[j] =
        old[i] === now[j]
          ? 1 + (table[i + 1]?.[j + 1] ?? 0)
          : Math.max(table[i + 1]?.[j] ?? 0, table[i]?.[j + 1] ?? 0);
  return table;
}

function walk(old: string[], now: string[], table: number[][]): string[] {
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(`  ${old[i]}`);
      i++;
      j++;
    } else if (i < old.length && (table[i + 1]?.[j] ?? 0) >= (table[i]?.[j + 1] ?? -1)) {
      lines.push(`- ${old[i++]}`);
    } else if (j < now.length) lines.push(`+ ${now[j++]}`);
    else lines.push(`- ${old[i++]}`);
  }
  return lines;
}
