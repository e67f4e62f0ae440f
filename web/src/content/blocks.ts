import remend from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";

/** What is not Markdown's, or what we show as it is, needs no repair. */
const REPAIR = { htmlTags: false, katex: false, linkMode: "text-only" } as const;
const NOTE = /^ {0,3}\[\^[^\]\s]+\]:/m;
const STAND_IN = "\uee92";

/**
 * A text in blocks that can be read one by one. Streamdown takes `[^x]` for a footnote wherever it
 * stands, in code and in regular expressions, too, and then keeps the whole text in one block, which
 * is made anew with every word: so it is shown a text of the same length without them, unless there
 * really are notes.
 */
export function blocks(text: string): string[] {
  const lines = text.replace(/\r\n?/g, "\n");
  if (NOTE.test(lines)) return [lines];
  const found = parseMarkdownIntoBlocks(lines.replaceAll("[^", `[${STAND_IN}`));
  let from = 0;
  const taken = found.map((block) => {
    from += block.length;
    return lines.slice(from - block.length, from);
  });
  return from === lines.length ? taken : [lines];
}

/** While a text comes, only its last block can be unfinished. */
export function growingBlocks(text: string): string[] {
  const found = blocks(text);
  const last = found.pop();
  return last === undefined ? found : [...found, remend(last, REPAIR)];
}
