/**
 * KaTeX, loaded with the first formula. It builds elements, no HTML; links, classes and images of a
 * formula are off (`trust`), what a formula may grow to is bounded.
 */
import katex from "katex";
import "katex/dist/katex.css";

/** Maximum expansions of macros, and the maximum of a length in em. */
const EXPANSIONS = 300;
const SIZE = 30;
/** A formula that defines macros can grow by each of their uses. */
const DEFINES = /\\(?:[gex]?def|let|futurelet|(?:re|provide)?newcommand|global|long)(?![a-z])/i;
const LONGEST_DEFINING = 400;

/** Draws a formula into an element; false if it cannot. */
export function draw(tex: string, displayMode: boolean, into: HTMLElement): boolean {
  if (DEFINES.test(tex) && tex.length > LONGEST_DEFINING) return false;
  try {
    katex.render(tex, into, {
      displayMode,
      trust: false,
      strict: "ignore",
      maxExpand: EXPANSIONS,
      maxSize: SIZE,
      errorColor: "currentColor",
      macros: {},
    });
    return true;
  } catch {
    into.replaceChildren();
    return false;
  }
}
