/** Line styles of a chart: colours, and dashes for readers who cannot distinguish colours. */
const COLOURS = 6;
const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3], [10, 4, 2, 4], [12, 4], [4, 2]];

export function lineOf(index: number): { colour: string; dash: readonly number[] } {
  const round = Math.floor(index / COLOURS);
  return {
    colour: `--chart-${(index % COLOURS) + 1}`,
    dash: DASHES[(index + round) % DASHES.length] as readonly number[],
  };
}
