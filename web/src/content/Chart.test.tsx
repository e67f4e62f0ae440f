import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { Chart } from "@/content/Chart";
import { ChartTable } from "@/content/ChartTable";
import { type ChartData, readChart } from "@/content/chartData";
import { lineOf } from "@/content/lines";

const CHART = readChart({
  title: "Requests",
  series: [
    {
      name: "api",
      values: [
        [1, 10],
        [2, 25],
      ],
    },
    { name: "web", values: [[1, 5]] },
  ],
}) as ChartData;

test("a chart has a description", () => {
  render(<Chart chart={CHART} />);
  const name = "Line chart: Requests. 2 series: api, web. From 1 to 2, values between 5 and 25.";
  expect(screen.getByRole("img", { name })).toBeTruthy();
  const legend = screen.getAllByRole("listitem").map((item) => item.textContent);
  expect(legend).toEqual(["api25", "web5"]);
});

test("its data can be shown as a table", async () => {
  const user = userEvent.setup();
  render(<ChartTable chart={CHART} startOpen={false} />);
  expect(screen.queryByRole("table")).toBeNull();
  await user.click(screen.getByText("Show data as a table"));
  const rows = within(screen.getByRole("table")).getAllByRole("row");
  expect(rows.map((row) => row.textContent)).toEqual(["xapiweb", "1105", "225–"]);
});

test("a long table is cut, with a note", async () => {
  const user = userEvent.setup();
  const chart = readChart({ series: [{ name: "a", values: Array(500).fill(1) }] }) as ChartData;
  render(<ChartTable chart={chart} startOpen={false} />);
  await user.click(screen.getByText("Show data as a table"));
  expect(screen.getAllByRole("row")).toHaveLength(201);
  expect(screen.getByText("Showing the first 200 of 500 rows.")).toBeTruthy();
});

test("where no picture can be drawn, the numbers are there", async () => {
  render(<Chart chart={CHART} />); // There is no canvas here.
  expect(await screen.findByText(/Couldn't draw the chart/)).toBeTruthy();
  expect(screen.getByRole("table")).toBeTruthy();
});

test("no two of the lines that a chart can have look alike, and the first six differ without colour", () => {
  const lines = Array.from({ length: 12 }, (_, index) => lineOf(index));
  expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(12);
  expect(new Set(lines.slice(0, 6).map((line) => line.dash)).size).toBe(6);
});
