import { render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Timeline } from "@/inspector/timeline/spans";
import { ComparedFigures } from "@/runPages/ComparedFigures";

function run(cost?: number): Timeline {
  const root = {
    key: "run",
    kind: "run" as const,
    name: "",
    status: "ok" as const,
    first: 1,
    last: 2,
    from: 0,
    to: 1000,
    total: { input: 1, output: 1, ...(cost !== undefined && { cost }) },
    children: [],
  };
  return { root, spans: [root], timed: true, length: 1000 };
}

const cells = () =>
  within(screen.getByRole("row", { name: /^Cost/ }))
    .getAllByRole("cell")
    .map(({ textContent }) => textContent);

test("a cost that is unknown is not shown as none", () => {
  render(<ComparedFigures timelines={[run(0.5), run()]} />);
  expect(cells()).toEqual(["$0.5000", "–", "–"]);
});

test("costs are compared", () => {
  render(<ComparedFigures timelines={[run(0.5), run(0.25)]} />);
  expect(cells()).toEqual(["$0.5000", "$0.2500", "−$0.2500"]);
});
