import { useState } from "react";
import type { ChartData } from "@/content/chartData";
import { valueWord, xWord } from "@/content/chartWords";
import { ScrollBox } from "@/content/ScrollBox";
import { strings } from "@/strings";

const MOST = 200;

/** The data of a chart as a table, rendered only when it is opened. */
export function ChartTable({ chart, startOpen }: { chart: ChartData; startOpen: boolean }) {
  const [toggled, setToggled] = useState<boolean>();
  const open = toggled ?? startOpen;
  return (
    <details open={open} className="chart-data">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button */}
      <summary
        onClick={(event) => {
          event.preventDefault();
          setToggled(!open);
        }}
      >
        {strings.content.asTable}
      </summary>
      {open && <Rows chart={chart} />}
    </details>
  );
}

function Rows({ chart }: { chart: ChartData }) {
  return (
    <>
      <ScrollBox
        label={strings.content.dataOf(chart.title ?? strings.content.chart)}
        className="chart-rows"
      >
        <table>
          <thead>
            <tr>
              <th scope="col">{strings.content.axis[chart.axis]}</th>
              {chart.series.map((series, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two series may have one name
                <th key={index} scope="col">
                  {series.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {chart.x.slice(0, MOST).map((x, row) => (
              <tr key={x}>
                <th scope="row">{xWord(chart, x)}</th>
                {chart.series.map((series, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: two series may have one name
                  <td key={index}>{valueWord(series.values[row])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {chart.x.length > MOST && (
        <p className="chart-note">{strings.content.firstRows(MOST, chart.x.length)}</p>
      )}
    </>
  );
}
