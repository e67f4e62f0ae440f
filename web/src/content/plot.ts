/** Draws charts with uPlot in the page's colours. Loaded on demand. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartData } from "@/content/chartData";
import { ticks, valueTicks } from "@/content/chartWords";
import { lineOf } from "@/content/lines";

const HEIGHT = 200;

interface Plot {
  destroy(): void;
}

/** Draws into the box, and again when its width or the theme changes. */
export function plot(
  box: HTMLElement,
  chart: ChartData,
  onHover: (at: number | null) => void,
): Plot {
  const data = [chart.x, ...chart.series.map((series) => series.values)] as uPlot.AlignedData;
  const drawn = new uPlot(options(box, chart, onHover), data, box);
  const resized = new ResizeObserver(() => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== drawn.width) drawn.setSize({ width, height: HEIGHT });
  });
  resized.observe(box);
  const themed = new MutationObserver(() => drawn.redraw(false));
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
  return {
    destroy() {
      resized.disconnect();
      themed.disconnect();
      drawn.destroy();
    },
  };
}

function options(box: HTMLElement, chart: ChartData, onHover: (at: number | null) => void) {
  const colour = (name: string) => () => getComputedStyle(box).getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour("--ink-2"),
    font: "11px ui-sans-serif, system-ui, sans-serif",
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const config: uPlot.Options = {
    width: Math.max(1, Math.floor(box.clientWidth)),
    height: HEIGHT,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: chart.axis === "time", range: padded }, y: { range: roomy } },
    axes: [
      {
        ...axis,
        space: 64,
        size: 28,
        ...(chart.axis === "word" && { incrs: [1, 2, 5, 10, 20, 50, 100, 1000] }),
        values: (_u, splits, _axis, _space, apart) => ticks(chart, splits, apart),
      },
      { ...axis, size: widest, gap: 6, values: (_u, splits) => valueTicks(splits) },
    ],
    series: [{}, ...chart.series.map((_, index) => line(index, colour, chart.x.length))],
    hooks: { setCursor: [(u) => onHover(u.cursor.idx ?? null)] },
  };
  return config;
}

function line(index: number, colour: (name: string) => () => string, length: number): uPlot.Series {
  const { colour: name, dash } = lineOf(index);
  const stroke = colour(name);
  return {
    stroke,
    dash: [...dash],
    width: 1.75,
    spanGaps: false,
    points: { show: length < 2 ? true : undefined, size: 5, stroke, fill: stroke },
  };
}

/** A single point is centred. */
const padded = (_u: uPlot, min: number, max: number): [number, number] =>
  min === max ? [min - 1, max + 1] : [min, max];

/** Padding above and below; values that are never negative but come near zero start at zero. */
function roomy(_u: uPlot, min: number, max: number): [number, number] {
  if (min === null || max === null) return [0, 1];
  const air = (max - min || Math.abs(max) || 1) * 0.08;
  const floor = min >= 0 && min < (max - min) * 0.6 ? 0 : min - air;
  return [floor, max + air];
}

/** The width of the longest label. */
function widest(u: uPlot, values: string[] | null): number {
  if (!values?.length) return 40;
  u.ctx.save();
  u.ctx.font = `${11 * devicePixelRatio}px ui-sans-serif, system-ui, sans-serif`;
  const width = Math.max(...values.map((value) => u.ctx.measureText(value ?? "").width));
  u.ctx.restore();
  return Math.ceil(width / devicePixelRatio) + 14;
}
