/**
 * Parses chart data of agents and tools: a Prometheus query_range response, bare or in `{status, data}`,
 * or `{title?, series: [{name, values}]}`. Anything else is no chart.
 */
import { type Fields, isFields, parsed } from "@/json";

export interface ChartData {
  title?: string;
  /** Times in seconds since 1970; for words, their positions in `words`. */
  axis: "time" | "number" | "word";
  x: number[];
  words?: string[];
  /** As long as `x`; null where there is no value. */
  series: Series[];
  /** Number of series left out, as too many lines cannot be distinguished. */
  left: number;
}

export interface Series {
  name: string;
  values: (number | null)[];
}

type X = number | string;
interface Line {
  name: string;
  points: [X, number | null][];
}

const MOST_SERIES = 12;
const MOST_POINTS = 50_000;
const MOST_TEXT = 5_000_000;

export function readChart(value: unknown): ChartData | undefined {
  const data = unwrap(value);
  if (!data) return undefined;
  const lines = data.resultType === "matrix" ? matrix(data.result) : listed(data);
  if (!lines?.some((line) => line.points.some(([, y]) => y !== null))) return undefined;
  return align(lines, text(data.title) ?? text(data.name));
}

/** The object with the data: tools return JSON text, envelopes or MCP content. */
function unwrap(value: unknown, depth = 0): Fields | undefined {
  if (depth > 4) return undefined;
  if (typeof value === "string") {
    if (value.length > MOST_TEXT || !/^\s*[[{]/.test(value)) return undefined;
    return unwrap(parsed(value), depth + 1);
  }
  if (Array.isArray(value)) {
    return value.length === 1 ? unwrap(object(value[0])?.text, depth + 1) : undefined;
  }
  const data = object(value);
  if (!data || data.resultType === "matrix" || Array.isArray(data.series)) return data;
  const inner = data.status === "error" ? undefined : (data.data ?? data.content);
  const found = inner === undefined ? undefined : unwrap(inner, depth + 1);
  return found && { title: data.title, ...found };
}

function matrix(result: unknown): Line[] | undefined {
  if (!Array.isArray(result)) return undefined;
  const rows = result.map((row) => ({ metric: object(object(row)?.metric) ?? {}, row }));
  const names = metricNames(rows.map(({ metric }) => metric));
  return every(rows, ({ row }, index) => {
    const points = pairs(object(row)?.values);
    return points && { name: names[index] as string, points };
  });
}

/** Names a series by the labels that differ. */
function metricNames(metrics: Fields[]): string[] {
  const keys = [...new Set(metrics.flatMap(Object.keys))];
  const differ = keys.filter((key) => metrics.some((metric) => metric[key] !== metrics[0]?.[key]));
  const used = differ.length ? differ : keys.filter((key) => key !== "__name__");
  return metrics.map((metric, index) => {
    const labels = used.filter((key) => metric[key] !== undefined);
    const name = labels.map((key) => (labels.length > 1 ? `${key}=${metric[key]}` : metric[key]));
    return name.join(", ") || text(metric.__name__) || `series ${index + 1}`;
  });
}

function listed(data: Fields): Line[] | undefined {
  if (!Array.isArray(data.series)) return undefined;
  const shared = [data.x, data.labels, data.timestamps].find(Array.isArray) as
    | unknown[]
    | undefined;
  return every(data.series, (entry, index) => {
    const series = object(entry);
    const values = series && [series.values, series.data, series.points].find(Array.isArray);
    const points = pairs(values, shared);
    const name = text(series?.name) ?? text(series?.label) ?? `series ${index + 1}`;
    return points && { name, points };
  });
}

/** `[[x, y], …]`, `[{x, y}, …]`, or `[y, …]` with the x that all series share, or none. */
function pairs(values: unknown, shared?: unknown[]): [X, number | null][] | undefined {
  if (!Array.isArray(values) || values.length > MOST_POINTS) return undefined;
  return every(values, (value, index) => {
    if (Array.isArray(value)) return pair(value[0], value[1]);
    const point = object(value);
    if (!point) return pair(shared ? shared[index] : index, value);
    return pair(
      point.x ?? point.time ?? point.timestamp ?? point.t,
      point.y ?? point.value ?? point.v,
    );
  });
}

function pair(x: unknown, y: unknown): [X, number | null] | undefined {
  const isX = (typeof x === "number" && Number.isFinite(x)) || (typeof x === "string" && x !== "");
  return isX ? [x as X, measured(y)] : undefined;
}

/** Prometheus writes numbers as text, and NaN and infinities as words, which no line can show. */
function measured(y: unknown): number | null {
  const number = typeof y === "string" && y.trim() ? Number(y) : y;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

function align(lines: Line[], title: string | undefined): ChartData {
  const shown = lines.slice(0, MOST_SERIES);
  const all = shown.flatMap((line) => line.points.map(([x]) => x));
  const { axis, read, words } = axisOf(all);
  const x = [...new Set(all.map(read))].sort((a, b) => a - b);
  const series = shown.map(({ name, points }) => {
    const at = new Map(points.map(([px, y]) => [read(px), y]));
    return { name, values: x.map((value) => at.get(value) ?? null) };
  });
  return { title, axis, x, words, series, left: lines.length - shown.length };
}

interface AxisReader {
  axis: ChartData["axis"];
  read: (x: X) => number;
  words?: string[];
}

function axisOf(xs: X[]): AxisReader {
  const numbers = xs.map(Number);
  if (numbers.every(Number.isFinite)) {
    const scale = numbers.every((x) => x > 1e8 && x < 1e11) ? 1 : 1e-3;
    const isTime = numbers.every((x) => x * scale > 1e8 && x * scale < 1e11);
    return isTime
      ? { axis: "time", read: (x) => Number(x) * scale }
      : { axis: "number", read: Number };
  }
  const dates = (x: X) =>
    /^\d{4}-\d\d/.test(String(x)) ? Date.parse(String(x)) / 1000 : Number.NaN;
  if (xs.every((x) => Number.isFinite(dates(x)))) return { axis: "time", read: dates };
  const words = [...new Set(xs.map(String))];
  const positions = new Map(words.map((word, index) => [word, index]));
  return { axis: "word", words, read: (x) => positions.get(String(x)) ?? 0 };
}

/** All items parsed, or undefined. */
function every<In, Out>(items: In[], read: (item: In, index: number) => Out | undefined) {
  const results: Out[] = [];
  for (const [index, item] of items.entries()) {
    const result = read(item, index);
    if (result === undefined) return undefined;
    results.push(result);
  }
  return results;
}

const object = (value: unknown): Fields | undefined => (isFields(value) ? value : undefined);
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() ? value.slice(0, 200) : undefined;
