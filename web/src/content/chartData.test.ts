import { expect, test } from "vitest";
import { readChart } from "@/content/chartData";

const row = (metric: object, ...values: [number, string][]) => ({ metric, values });
const matrix = (...result: object[]) => ({ resultType: "matrix", result });

test("Prometheus' matrix is a chart over time, bare, in its envelope, or as text", () => {
  const data = matrix(row({ job: "api" }, [1700000000, "1.5"], [1700000060, "2"]));
  const expected = {
    title: undefined,
    axis: "time",
    x: [1700000000, 1700000060],
    words: undefined,
    series: [{ name: "api", values: [1.5, 2] }],
    left: 0,
  };
  expect(readChart(data)).toEqual(expected);
  expect(readChart({ status: "success", data })).toEqual(expected);
  expect(readChart(JSON.stringify({ status: "success", data }))).toEqual(expected);
  expect(readChart({ content: [{ type: "text", text: JSON.stringify(data) }] })).toEqual(expected);
  expect(readChart({ title: "Requests", ...data })?.title).toBe("Requests");
});

test("series are named by the labels in which they differ", () => {
  const at: [number, string] = [1700000000, "1"];
  const names = (...metrics: object[]) =>
    readChart(matrix(...metrics.map((metric) => row(metric, at))))?.series.map((s) => s.name);
  expect(names({ __name__: "up", job: "a" }, { __name__: "up", job: "b" })).toEqual(["a", "b"]);
  expect(names({ job: "a", pod: "1" }, { job: "b", pod: "2" })).toEqual([
    "job=a, pod=1",
    "job=b, pod=2",
  ]);
  expect(names({ __name__: "up" })).toEqual(["up"]);
  expect(names({})).toEqual(["series 1"]);
});

test("what was not measured is a gap, in its own place", () => {
  const chart = readChart(
    matrix(
      row({ job: "a" }, [1700000000, "NaN"], [1700000120, "3"]),
      row({ job: "b" }, [1700000060, "+Inf"], [1700000120, "-4"]),
    ),
  );
  expect(chart?.x).toEqual([1700000000, 1700000060, 1700000120]);
  expect(chart?.series.map((series) => series.values)).toEqual([
    [null, null, 3],
    [null, null, -4],
  ]);
});

test.each([
  [
    "pairs",
    {
      series: [
        {
          name: "a",
          values: [
            [1, 5],
            [2, 6],
          ],
        },
      ],
    },
    "number",
    [1, 2],
  ],
  [
    "points",
    {
      series: [
        {
          name: "a",
          data: [
            { x: 1, y: 5 },
            { x: 2, y: 6 },
          ],
        },
      ],
    },
    "number",
    [1, 2],
  ],
  ["values alone", { series: [{ label: "a", values: [5, 6] }] }, "number", [0, 1]],
  [
    "milliseconds",
    {
      series: [
        {
          name: "a",
          values: [
            [1700000000000, 5],
            [1700000060000, 6],
          ],
        },
      ],
    },
    "time",
    [1700000000, 1700000060],
  ],
  [
    "dates",
    {
      series: [
        {
          name: "a",
          points: [
            ["2023-11-14T22:13:20Z", 5],
            ["2023-11-14T22:14:20Z", 6],
          ],
        },
      ],
    },
    "time",
    [1700000000, 1700000060],
  ],
  ["words", { labels: ["Mon", "Tue"], series: [{ name: "a", values: [5, 6] }] }, "word", [0, 1]],
])("an agent's series may be %s", (_, data, axis, x) => {
  expect(readChart(data)).toMatchObject({ axis, x, series: [{ values: [5, 6] }] });
});

test("of many series the first dozen are shown, and the rest is counted", () => {
  const series = Array.from({ length: 30 }, (_, n) => ({ name: `s${n}`, values: [n] }));
  expect(readChart({ series })).toMatchObject({ left: 18, series: { length: 12 } });
});

test.each([
  ["nothing", undefined],
  ["a word", "hello"],
  ["broken JSON", "{"],
  ["a vector", { resultType: "vector", result: [{ metric: {}, value: [1, "1"] }] }],
  ["an error", { status: "error", data: matrix(row({}, [1, "1"])) }],
  ["a matrix without rows", matrix()],
  ["a matrix without numbers", matrix(row({}, [1, "NaN"]))],
  ["a matrix of something else", matrix({ metric: {}, values: "x" })],
  ["values without a place", { series: [{ name: "a", values: [[null, 1]] }] }],
  ["a list of numbers", [1, 2, 3]],
  ["data without end", [[[[[["x"]]]]]]],
])("%s is no chart", (_, value) => {
  expect(readChart(value)).toBeUndefined();
});
