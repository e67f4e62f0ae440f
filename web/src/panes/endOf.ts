/** How much of a text is shown. */
interface Room {
  /** Characters; of what is longer, the end is shown. */
  most: number;
  /** Its beginning goes in steps of so many, so that what is shown seldom begins elsewhere. */
  step: number;
}

/** The end of a text, from the beginning of a line on. */
export function endOf(text: string, { most, step }: Room): string {
  if (text.length <= most) return text;
  const from = Math.ceil((text.length - most) / step) * step;
  return text.slice(text.indexOf("\n", from) + 1);
}
