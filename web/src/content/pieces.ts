import remend from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";

/** What is not Markdown's, or what we show as it is, needs no repair. */
const REPAIR = { htmlTags: false, katex: false, linkMode: "text-only" } as const;
const NOTE = /^ {0,3}\[\^[^\]\s]+\]:/m;
const STAND_IN = "[\uee92";

/**
 * A text in blocks that can be read one by one. Streamdown takes `[^x]` for a footnote wherever it
 * stands, in code and in regular expressions, too, and then keeps the whole text in one block, which
 * is made anew with every word: so it gets to see a text without them, unless there really are notes.
 */
export function pieces(text: string): string[] {
  const lines = text.replace(/\r\n?/g, "\n");
  if (NOTE.test(lines)) return [lines];
  if (!lines.includes("[^")) return parseMarkdownIntoBlocks(lines);
  const found = parseMarkdownIntoBlocks(lines.replaceAll("[^", STAND_IN));
  return found.map((block) => block.replaceAll(STAND_IN, "[^"));
}

/** While a text comes, only its last block can be unfinished. */
export function growingPieces(text: string): string[] {
  const found = pieces(text);
  const last = found.at(-1);
  return last === undefined ? found : [...found.slice(0, -1), remend(last, REPAIR)];
}
