import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import type { UIMessage } from "ai";
import axe from "axe-core";
import { describe, expect, test, vi } from "vitest";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { demo } from "@/parts/fixtures/messages";
import { Parts } from "@/parts/Parts";
import { everyStep, keepOpen } from "@/state/folds";

const message = (parts: unknown[], metadata?: unknown): UIMessage => ({
  id: "m1",
  role: "assistant",
  parts: parts as UIMessage["parts"],
  metadata,
});

describe("an answer that is being written", () => {
  test("is a spinner with a name while it is empty", () => {
    render(<Parts message={message([])} live />);
    expect(screen.getByRole("progressbar", { name: "Working…" })).toBeTruthy();
  });

  test("has no spinner besides what shows by itself that it goes on", () => {
    const text = { type: "text", text: "Hel", state: "streaming" };
    const { rerender } = render(<Parts message={message([text])} live />);
    expect(screen.queryByRole("progressbar")).toBeNull();
    rerender(<Parts message={message([{ ...text, state: "done" }])} live />);
    expect(screen.getByRole("progressbar")).toBeTruthy();
    rerender(<Parts message={message([{ ...text, state: "done" }])} live={false} />);
    expect(screen.queryByRole("progressbar")).toBeNull();
  });
});

test("a delta makes only the last block anew, though the client copies them all", () => {
  const url = "https://example.org/report.pdf";
  const at = (text: string) =>
    message([
      { type: "file", url, mediaType: "application/pdf" },
      { type: "text", text, state: "streaming" },
    ]);
  const { rerender } = render(<Parts message={at("a")} live />);
  const href = vi.spyOn(URL.prototype, "href", "get"); // read whenever a row of files renders
  rerender(<Parts message={at("a b")} live />);
  expect(screen.getByText("a b")).toBeTruthy();
  expect(href).not.toHaveBeenCalled();
  cleanup();
  render(<Parts message={at("a")} live />);
  expect(href).toHaveBeenCalled();
});

test("a placeholder names its call by the agent's own id", () => {
  const values = [[1700000000, "1"]];
  const output = { resultType: "matrix", result: [{ metric: { job: "api" }, values }] };
  const call = { type: "dynamic-tool", toolName: "query_range", toolCallId: "m1:a:b" };
  const text = '<<{"type":"promql","tool_call_id":"a:b"}>>';
  const parts = [
    { ...call, state: "output-available", input: {}, output },
    { type: "text", text, state: "done" },
  ];
  render(<Parts message={message(parts)} live={false} />);
  expect(screen.getByRole("img", { name: /^Line chart: query_range/ })).toBeTruthy();
});

test("with every step, a plan is a progress bar and a list with the state of each step", () => {
  everyStep.set(true);
  const items = [
    { content: "Look", status: "completed" },
    { content: "Weigh", activeForm: "Weighing", status: "in_progress" },
    { content: "Write", status: "pending" },
  ];
  render(<Parts message={message([{ type: "data-todos", id: "todos", data: { items } }])} live />);
  const bar = screen.getByRole("progressbar", { name: "3 steps" });
  expect([
    bar.ariaValueNow ?? bar.getAttribute("aria-valuenow"),
    bar.getAttribute("aria-valuemax"),
  ]).toEqual(["1", "3"]);
  const lines = within(screen.getByRole("list")).getAllByRole("listitem");
  expect(lines.map((line) => line.textContent)).toEqual([
    "Done: Look",
    "In progress: Weighing",
    "To do: Write",
  ]);
  expect(screen.getByText("Look").className).toContain("line-through");
});

test("a subagent's doings are behind its name, and open while it works", () => {
  const at = (status: string) =>
    message([
      { type: "data-subagent", id: "a", data: { agent: "researcher", task: "Look", status } },
      {
        type: "reasoning",
        text: "It is tall.",
        state: "done",
        providerMetadata: { mobox: { variant: "thinking", scope: ["a"], id: "r" } },
      },
    ]);
  const { unmount } = render(<Parts message={at("running")} live />);
  expect(screen.getByRole("button", { name: "Thought" })).toBeTruthy();
  unmount();
  render(<Parts message={at("ok")} live={false} />);
  expect(screen.queryByRole("button", { name: "Thought" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: /researcher/ }));
  expect(screen.getByRole("button", { name: "Thought" })).toBeTruthy();
});

test("a subagent's card stays open if the user opened a block in it", () => {
  const at = (status: string) =>
    message([
      { type: "data-subagent", id: "a", data: { agent: "researcher", status } },
      {
        type: "dynamic-tool",
        toolCallId: "t1",
        toolName: "look",
        state: "output-available",
        input: {},
        output: "tall",
        callProviderMetadata: { mobox: { scope: ["a"] } },
      },
    ]);
  vi.useFakeTimers();
  const { rerender } = render(<Parts message={at("running")} live />);
  fireEvent.click(screen.getByRole("button", { name: /Look/ }));
  rerender(<Parts message={at("ok")} live={false} />);
  act(() => vi.advanceTimersByTime(5000));
  vi.useRealTimers();
  expect(screen.getByLabelText("Result").textContent).toContain("tall");
});

test("sources have the elements that the marks of the text lead to", () => {
  render(<Parts message={demo.cite} live={false} />);
  const list = screen.getAllByRole("list").find((each) => each.tagName === "OL") as HTMLElement;
  const items = within(list).getAllByRole("listitem");
  expect(items.map((item) => item.id)).toEqual(["source-run_cite-1", "source-run_cite-2"]);
  expect(items[0]?.textContent).toContain("example.org");
});

test("a stored failure and a live one look the same, and offer another try", () => {
  const onRetry = vi.fn();
  const failure = "This is what a failure looks like.";
  const stored = render(<Parts message={demo.error} live={false} onRetry={onRetry} />);
  const look = stored.getByText(failure).closest("div.flex")?.className;
  fireEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(onRetry).toHaveBeenCalledOnce();
  stored.unmount();
  render(<ErrorBlock text={failure} onRetry={onRetry} />);
  expect(screen.getByRole("alert").className).toBe(look);
});

test("only a failure that happens now is read out at once", () => {
  const { rerender, unmount } = render(<Parts message={message([])} live />);
  rerender(<Parts message={demo.error} live={false} />);
  expect(screen.getByRole("alert").textContent).toContain("a failure");
  unmount();
  render(<Parts message={demo.error} live={false} />);
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByText("This is what a failure looks like.")).toBeTruthy();
});

test("a request that failed is called so", () => {
  render(<ErrorBlock network text="offline" />);
  expect(screen.getByRole("alert").textContent).toBe("Request Failedoffline");
});

// "all" is the others one after the other.
test.each(Object.entries(demo).filter(([name]) => name !== "all"))(
  "the demo's answer to %j is accessible with all its blocks open",
  async (_name, stored) => {
    keepOpen.set(true);
    const { container } = render(
      <main>
        <Parts message={stored} live={false} onRetry={() => {}} />
      </main>,
    );
    for (const button of screen.queryAllByRole("button", { expanded: false }))
      if (!button.hasAttribute("aria-haspopup")) fireEvent.click(button);
    // jsdom knows no colours and no layout: contrast and sizes are checked in a real browser.
    const rules = { "color-contrast": { enabled: false } };
    const { violations } = await axe.run(container, { rules });
    expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  },
  60_000,
);
