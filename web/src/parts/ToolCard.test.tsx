import { fireEvent, render, screen } from "@testing-library/react";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { CallState, ToolBlock } from "@/parts/blocks";
import { Parts } from "@/parts/Parts";
import { ToolCard } from "@/parts/ToolCard";
import { ToolGroup } from "@/parts/ToolGroup";
import { firstArgument } from "@/parts/tools/names";
import { everyStep } from "@/state/folds";
import { strings } from "@/strings";

const tool = (more: Partial<ToolBlock> = {}): ToolBlock => ({
  kind: "tool",
  key: `m1/tool:${more.callId ?? "a"}`,
  callId: "a",
  name: "get_weather",
  state: "done",
  input: { city: "Zürich", days: 3 },
  output: { high: 24 },
  ...more,
});
const head = () => screen.getByRole("button", { expanded: false });

test.each(Object.entries(strings.parts.callStates))("a call that is %s shows %j", (state, word) => {
  render(<ToolCard block={tool({ state: state as CallState })} />);
  expect(head().textContent).toContain(word);
});

test("a card is closed, and shows its name and its summary", () => {
  render(<ToolCard block={tool()} />);
  expect(head().textContent).toContain("get_weather");
  expect(head().textContent).toContain("Zürich");
  expect(screen.queryByText("Parameters")).toBeNull();
});

test("an open card has the parameters as far as they came, and then the result", () => {
  const { rerender } = render(
    <ToolCard block={tool({ state: "preparing", input: { city: "Zü" }, output: undefined })} />,
  );
  fireEvent.click(head());
  expect(screen.getByLabelText("Parameters").textContent).toContain('"Zü"');
  expect(screen.queryByText("Result")).toBeNull();
  rerender(<ToolCard block={tool()} />);
  expect(screen.getByLabelText("Parameters").textContent).toContain('"Zürich"');
  expect(screen.getByLabelText("Result").textContent).toContain("24");
});

test.each([
  ["running", "No result yet."],
  ["denied", "No result."],
  ["stopped", "No result."],
] as const)("a call that is %s without a result shows: %s", (state, expected) => {
  render(<ToolCard block={tool({ state, input: {}, output: undefined })} />);
  fireEvent.click(head());
  expect(screen.getByText(expected)).toBeTruthy();
});

test("why a call failed is seen without opening it, and once when it is open", () => {
  render(<ToolCard block={tool({ state: "failed", error: "No such city", output: undefined })} />);
  expect(screen.getByText("No such city")).toBeTruthy();
  fireEvent.click(head());
  expect(screen.getAllByText("No such city")).toHaveLength(1);
});

test.each([
  [{ decision: "denied", reason: "Not today" }, "You denied this: Not today"],
  [{ decision: "denied" }, "You denied this."],
  [{ decision: "approved" }, "You approved this."],
  [{ decision: "answered", value: "Nothing there" }, "You answered: Nothing there"],
])("what a person decided stays with the call: %j is %j", (answer, expected) => {
  const { container } = render(
    <ToolCard block={tool({ state: "denied", decision: { id: "x", allowed: [], answer } })} />,
  );
  expect(container.textContent).toContain(expected);
});

test.each([
  "approval-responded",
  "output-denied",
])("the reason of a denial is shown when it is %s", (state) => {
  const approval = { id: "x", approved: false, reason: "Not today" };
  const part = {
    type: "dynamic-tool",
    toolCallId: "a",
    toolName: "rm",
    state,
    input: {},
    approval,
  };
  const parts = [part] as unknown as UIMessage["parts"];
  render(<Parts message={{ id: "m1", role: "assistant", parts }} live={false} />);
  expect(screen.getByText("You denied this: Not today")).toBeTruthy();
});

test("many calls are one row with their number and failures", () => {
  const tools = ["a", "b", "c", "d"].map((callId) => tool({ callId }));
  tools.push(tool({ callId: "e", name: "read", state: "failed", error: "No such file" }));
  render(<ToolGroup block={{ kind: "tools", key: "g", tools }} />);
  expect(head().textContent).toBe("Used 5 tools1 failed");
  expect(screen.getByText("No such file", { exact: false }).textContent).toBe("read: No such file");
  fireEvent.click(head());
  expect(screen.getAllByRole("button", { expanded: false })).toHaveLength(5);
});

test("with every step, a card that the user opened is not hidden when a fourth call ends", () => {
  everyStep.set(true);
  const call = (toolCallId: string, state: string) => ({
    type: "dynamic-tool",
    toolCallId,
    toolName: `tool_${toolCallId}`,
    state,
    input: {},
    ...(state === "output-available" && { output: "ok" }),
  });
  const at = (last: string) => ({
    id: "m1",
    role: "assistant" as const,
    parts: ["a", "b", "c", "d"].map((id, place) =>
      call(id, place === 3 ? last : "output-available"),
    ) as UIMessage["parts"],
  });
  const { rerender } = render(<Parts message={at("input-available")} live />);
  fireEvent.click(screen.getByRole("button", { name: /tool_b/ }));
  rerender(<Parts message={at("output-available")} live />);
  expect(screen.getByRole("button", { name: /Used 4 tools/, expanded: true })).toBeTruthy();
  expect(screen.getByLabelText("Result")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: /tool_b/ }));
  expect(screen.getByRole("button", { name: /tool_b/, expanded: false })).toBeTruthy();
});

test.each([
  [{ command: "ls\n  -l" }, "ls -l"],
  [{ items: [1, 2] }, "[1,2]"],
  ['{"half', '{"half'],
  [{}, ""],
  [undefined, ""],
])("the first argument of %j is %j", (input, text) => {
  expect(firstArgument(input)).toBe(text);
});
