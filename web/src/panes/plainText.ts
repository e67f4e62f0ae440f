import { ESC } from "@/panes/escapes";

/** The sequences that are left of what programs print, and what goes back in a line. */
const PARTS = new RegExp(`${ESC}\\[([\\d;:]*)([A-Za-z])|[\\r\\b]|[^${ESC}\\r\\b]+`, "g");

/** Most lines have none of it. */
const PARTED = new RegExp(`[${ESC}\\r\\b]`);

/**
 * What a terminal shows, as lines of text: what was overwritten or erased in a line is gone. Lines
 * that were moved to are written where they were told.
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
