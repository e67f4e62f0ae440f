import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ReasoningBlock } from "@/parts/blocks";
import { Reasoning } from "@/parts/Reasoning";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const block = (more: Partial<ReasoningBlock> = {}): ReasoningBlock => ({
  kind: "reasoning",
  key: "m1/reasoning:a",
  variant: "thinking",
  text: "Hm, **well**.",
  active: false,
  newer: false,
  ...more,
});
const head = () => screen.getByRole("button");
const isOpen = () => head().getAttribute("aria-expanded") === "true";

test.each([
  ["thinking", { active: true }, "Thinking…"],
  ["thinking", { durationMs: 5200 }, "Thought for 5s"],
  ["thinking", { durationMs: 400 }, "Thought for 0.4s"],
  ["thinking", { durationMs: 125_000 }, "Thought for 2m 5s"],
  ["thinking", {}, "Thought"],
  ["processing", { active: true }, "Processing…"],
  ["processing", { durationMs: 3000 }, "Processed in 3s"],
  ["processing", {}, "Processed"],
] as const)("%s with %j has the label %j", (variant, more, label) => {
  render(<Reasoning block={block({ variant, ...more })} />);
  expect(head().textContent).toBe(label);
});

test("only a label of what is being written shimmers", () => {
  const { rerender } = render(<Reasoning block={block({ active: true })} />);
  expect(screen.getByText("Thinking…").className).toContain("shimmer");
  rerender(<Reasoning block={block({ durationMs: 1000 })} />);
  expect(screen.getByText("Thought for 1s").className).not.toContain("shimmer");
});

test("thoughts are prose, and a log is shown as it was printed", () => {
  const { rerender } = render(<Reasoning block={block({ active: true })} />);
  expect(screen.getByText("well").tagName).toBe("STRONG");
  rerender(<Reasoning block={block({ key: "b", variant: "processing", active: true })} />);
  expect(screen.getByText("Hm, **well**.")).toBeTruthy();
});

test("a block that ends closes half a second later, though its message goes on", () => {
  const { rerender } = render(<Reasoning block={block({ active: true })} />);
  expect(isOpen()).toBe(true);
  rerender(<Reasoning block={block({ durationMs: 900 })} />);
  act(() => vi.advanceTimersByTime(499));
  expect(isOpen()).toBe(true);
  act(() => vi.advanceTimersByTime(1));
  expect(isOpen()).toBe(false);
});

test("a click on an old block opens it, and nothing closes it again", () => {
  const { rerender } = render(<Reasoning block={block()} />);
  expect(isOpen()).toBe(false);
  fireEvent.click(head());
  rerender(<Reasoning block={block({ newer: true })} />);
  act(() => vi.advanceTimersByTime(10_000));
  expect(isOpen()).toBe(true);
});
