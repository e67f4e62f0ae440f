/** How much of a text to show. */
interface Room {
  /** Maximum characters; of a longer text the end is shown. */
  most: number;
  /** The start moves in steps of this size, so that it rarely changes. */
  step: number;
}

/** The end of a text, from the start of a line on. */
export function endOf(text: string, { most, step }: Room): string {
  if (text.length <= most) return text;
  const from = Math.ceil((text.length - most) / step) * step;
  return text.slice(text.indexOf("\n", from) + 1);
}
