/** How the lines of a chart differ: by colour, and by dashes for those who do not see colours. */
const COLOURS = 6;
const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3], [10, 4, 2, 4], [12, 4], [4, 2]];

export function lineOf(index: number): { colour: string; dash: readonly number[] } {
  const round = Math.floor(index / COLOURS);
  return {
    colour: `--chart-${(index % COLOURS) + 1}`,
    dash: DASHES[(index + round) % DASHES.length] as readonly number[],
  };
}
