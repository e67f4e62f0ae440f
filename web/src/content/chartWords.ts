/** Formats the numbers and times of charts in the reader's locale. */
import type { ChartData } from "@/content/chartData";
import { locale } from "@/language";
import { strings } from "@/strings";

const number = new Intl.NumberFormat(locale, { maximumSignificantDigits: 6 });
const short = new Intl.NumberFormat(locale, {
  notation: "compact",
  maximumSignificantDigits: 4,
});
const time = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat(locale, { hourCycle: "h23", ...options });
  return (seconds: number) => format.format(seconds * 1000);
};
const DAY = { day: "numeric", month: "short" } as const;
const MINUTE = { hour: "2-digit", minute: "2-digit" } as const;
const moment = time({ ...DAY, year: "numeric", ...MINUTE });
const exact = time({ ...DAY, year: "numeric", ...MINUTE, second: "2-digit" });
const clock = time(MINUTE);
const seconds = time({ ...MINUTE, second: "2-digit" });
const day = time(DAY);
const month = time({ month: "short", year: "numeric" });

export const valueWord = (value: number | null | undefined): string =>
  value === null || value === undefined ? strings.content.nothing : number.format(value);

/** The short form. */
export const shortWord = (value: number | null | undefined): string =>
  value === null || value === undefined ? strings.content.nothing : short.format(value);

/** A position on the x axis, in full. */
export function xWord(chart: ChartData, x: number): string {
  if (chart.axis === "word") return chart.words?.[x] ?? "";
  if (chart.axis === "number") return number.format(x);
  return x % 60 ? exact(x) : moment(x);
}

/** Labels of ticks with this distance. */
export function ticks(chart: ChartData, splits: number[], apart: number): (string | null)[] {
  if (chart.axis === "number") return splits.map((x) => short.format(x));
  if (chart.axis === "word") {
    return splits.map((x) => (Number.isInteger(x) ? (chart.words?.[x] ?? null) : null));
  }
  if (apart >= 28 * 86400) return splits.map(month);
  if (apart >= 86400) return splits.map(day);
  const word = apart < 60 ? seconds : clock;
  return splits.map((x) => (isMidnight(x) ? day(x) : word(x)));
}

export const valueTicks = (splits: number[]): string[] => {
  const most = Math.max(...splits.map(Math.abs));
  return splits.map((y) => (most >= 10_000 ? short : number).format(y));
};

const isMidnight = (at: number) => {
  const date = new Date(at * 1000);
  return date.getHours() + date.getMinutes() + date.getSeconds() === 0;
};

interface Extent {
  from: string;
  to: string;
}

/** The range of the x axis; the end omits the date if it is the same day. */
export function extent(chart: ChartData): Extent {
  const first = chart.x[0] as number;
  const last = chart.x.at(-1) as number;
  if (chart.axis !== "time") return { from: xWord(chart, first), to: xWord(chart, last) };
  const [whole, part] = last - first < 300 ? [exact, seconds] : [moment, clock];
  return { from: whole(first), to: day(first) === day(last) ? part(last) : whole(last) };
}

/** A one-sentence description for screen readers. */
export function description(chart: ChartData): string {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const value of chart.series.flatMap((series) => series.values)) {
    if (value === null) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return strings.content.chartLabel({
    title: chart.title ?? strings.content.chart,
    series: chart.series.map((series) => series.name),
    ...extent(chart),
    least: number.format(least),
    most: number.format(most),
  });
}
