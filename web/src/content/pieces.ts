import remend from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";

/** HTML and math are not part of our Markdown; an unfinished link is shown as its text. */
const REPAIR = { htmlTags: false, katex: false, linkMode: "text-only" } as const;
const NOTE = /^ {0,3}\[\^[^\]\s]+\]:/m;
const STAND_IN = "[\uee92";

/**
 * Splits a text into blocks. Streamdown treats any `[^x]` as a footnote, even in code and regular
 * expressions, and then keeps the whole text in one block, which renders again with every delta: so
 * they are hidden from it, unless the text has real footnotes.
 */
export function pieces(text: string): string[] {
  const lines = text.replace(/\r\n?/g, "\n");
  if (NOTE.test(lines)) return [lines];
  if (!lines.includes("[^")) return parseMarkdownIntoBlocks(lines);
  const found = parseMarkdownIntoBlocks(lines.replaceAll("[^", STAND_IN));
  return found.map((block) => block.replaceAll(STAND_IN, "[^"));
}

/** While a text streams, only its last block can be unfinished. */
export function growingPieces(text: string): string[] {
  const found = pieces(text);
  const last = found.at(-1);
  return last === undefined ? found : [...found.slice(0, -1), remend(last, REPAIR)];
}
