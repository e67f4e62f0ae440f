import { useEffect, useRef, useState } from "react";
import { ChartTable } from "@/content/ChartTable";
import "@/content/chart.css";
import type { ChartData } from "@/content/chartData";
import { description, extent, shortWord, xWord } from "@/content/chartWords";
import { lineOf } from "@/content/lines";
import { strings } from "@/strings";

/** A line chart, with its data as a table. */
export function Chart({ chart }: { chart: ChartData }) {
  const [hovered, setHovered] = useState<number | null>(null);
  const { box, failed } = usePlot(chart, setHovered);
  const at = hovered !== null && hovered < chart.x.length ? hovered : undefined;
  const { from, to } = extent(chart);
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <span className="chart-title">{chart.title ?? strings.content.chart}</span>
        <span className="chart-range">
          {at === undefined ? strings.content.range(from, to) : xWord(chart, chart.x[at] as number)}
        </span>
      </figcaption>
      {failed ? (
        <p className="chart-note">{strings.content.noPicture}</p>
      ) : (
        <div ref={box} role="img" aria-label={description(chart)} className="chart-plot" />
      )}
      <Legend chart={chart} at={at} />
      {chart.left > 0 && <p className="chart-note">{strings.content.moreSeries(chart.left)}</p>}
      <ChartTable chart={chart} startOpen={failed} />
    </figure>
  );
}

/** Draws into the returned box. A chart that fails to draw must not break the answer. */
function usePlot(chart: ChartData, onHover: (at: number | null) => void) {
  const box = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let wanted = true;
    let drawn: { destroy(): void } | undefined;
    import("@/content/plot")
      .then(({ plot }) => {
        if (wanted && box.current) drawn = plot(box.current, chart, onHover);
      })
      .catch(() => wanted && setFailed(true));
    return () => {
      wanted = false;
      drawn?.destroy();
    };
  }, [chart, onHover]);
  return { box, failed };
}

/** The legend, with each line's value at the pointer, or its last value. */
function Legend({ chart, at }: { chart: ChartData; at: number | undefined }) {
  return (
    <ul className="chart-legend">
      {chart.series.map((series, index) => {
        const { colour, dash } = lineOf(index);
        const value =
          at === undefined ? series.values.findLast((v) => v !== null) : series.values[at];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: two series may have one name
          <li key={index}>
            <svg aria-hidden="true" width="22" height="8" viewBox="0 0 22 8">
              <path
                d="M0 4H22"
                stroke={`var(${colour})`}
                strokeWidth="2"
                strokeDasharray={dash.join(" ")}
              />
            </svg>
            <span className="chart-name">{series.name}</span>
            <span className="chart-value">{shortWord(value)}</span>
          </li>
        );
      })}
    </ul>
  );
}
