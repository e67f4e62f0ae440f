import { act, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Stderr } from "@/inspector/Output";
import { storedRun } from "@/inspector/source";
import { json, Network } from "@/testing/server";

const source = storedRun("r");

it("shows what would turn the text of stderr around as what it is", async () => {
  new Network().on("GET api/runs/r/stderr", () =>
    json({ legs: [{ leg: 1, text: "safe\u202egnp\nnext" }] }),
  );
  render(<Stderr source={source} over />);
  const text = (await screen.findByText(/safe/)).textContent ?? "";
  expect(text).toBe("safe\\u202egnp\nnext");
});

afterEach(() => void vi.useRealTimers());

it("shows more of stderr while the run is going on, and stops when it has ended", async () => {
  vi.useFakeTimers();
  let asked = 0;
  new Network().on("GET api/runs/r/stderr", () => {
    asked += 1;
    return json({ legs: [{ leg: 1, text: `line ${asked}` }] });
  });
  const { rerender } = render(<Stderr source={source} over={false} />);
  await act(() => vi.advanceTimersByTimeAsync(10));
  expect(screen.getByText("line 1")).toBeTruthy();
  await act(() => vi.advanceTimersByTimeAsync(1000));
  expect(screen.getByText("line 2")).toBeTruthy();
  rerender(<Stderr source={source} over />);
  await act(() => vi.advanceTimersByTimeAsync(5000));
  expect(screen.getByText("line 3")).toBeTruthy();
  expect(asked).toBe(3);
});

it("says that stderr is for operators where it is", async () => {
  new Network().on("GET api/runs/r/stderr", () =>
    json({ error: { code: "forbidden", message: "no" } }, 403),
  );
  render(<Stderr source={source} over />);
  expect(await screen.findByText(/Only operators/)).toBeTruthy();
});
