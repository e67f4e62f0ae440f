import { ESC } from "@/panes/escapes";

/** The escape sequences that remain in filtered output, and carriage returns and backspaces. */
const PARTS = new RegExp(`${ESC}\\[([\\d;:]*)([A-Za-z])|[\\r\\b]|[^${ESC}\\r\\b]+`, "g");

/** Most lines have none. */
const PARTED = new RegExp(`[${ESC}\\r\\b]`);

/**
 * Terminal output as lines of text, without overwritten or erased parts of a line. Vertical cursor
 * movement is ignored: text stays where it was printed.
 */
export function plainText(text: string): string {
  return text.split("\n").map(lineOf).join("\n");
}

function lineOf(text: string): string {
  if (!PARTED.test(text)) return text.trimEnd();
  let line: string[] = [];
  let at = 0;
  for (const [part, parameters = "", final] of text.matchAll(PARTS)) {
    if (final === "K") line = erased(line, at, parameters);
    else if (part === "\r") at = 0;
    else if (part === "\b") at = Math.max(0, at - 1);
    else if (final === undefined) {
      for (const character of part) line[at++] = character;
    }
  }
  return Array.from(line, (character) => character ?? " ")
    .join("")
    .trimEnd();
}

function erased(line: string[], at: number, parameters: string): string[] {
  if (parameters === "2") return [];
  if (parameters === "1") return line.map((character, place) => (place <= at ? " " : character));
  return line.slice(0, at);
}
