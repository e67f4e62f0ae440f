import { codeRanges } from "@/content/ranges";

const HEADING = /^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(#{1,6})(?=[ \t]|$)/gm;

/**
 * The text with headings that skip no level: the first one is `#`, those below it `##`. Models start with
 * `###` because it looks right; read aloud, that is a chapter without its title.
 */
export function evenHeadings(text: string): string {
  if (!text.includes("#")) return text;
  const code = codeRanges(text);
  const above: number[] = [];
  return text.replace(HEADING, (all, indent: string, marks: string, at: number) => {
    if (code.some(({ start, end }) => start <= at && at < end)) return all;
    while ((above.at(-1) ?? 0) >= marks.length) above.pop();
    above.push(marks.length);
    return indent + "#".repeat(above.length);
  });
}
