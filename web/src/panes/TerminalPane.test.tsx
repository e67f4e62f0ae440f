import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { TerminalPane } from "@/panes/TerminalPane";
import type { PaneMessage } from "@/panes/wire";
import { terminalAsText } from "@/state/panel";
import { asInBrowser } from "@/testing/browser";

const common = { pane: "terminal", isMore: false, isPending: false, isRetracted: false } as const;
const printed = (content: string): PaneMessage => ({
  ...common,
  id: "a",
  event: "tool_output",
  toolName: "shell",
  content,
});
const MANY = Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("");

function show(content: string) {
  asInBrowser();
  terminalAsText.set(true);
  return render(<TerminalPane messages={[printed(content)]} live={false} />);
}
afterEach(() => localStorage.clear());

it("shows all of what is not much", () => {
  show("one\ntwo\n");
  expect(screen.getByRole("group", { name: "Tool output" }).textContent).toContain("one\ntwo");
  expect(screen.queryByText(/Showing the last part only/)).toBeNull();
});

it("shows the end of long output with a note, and copies all of it", async () => {
  const user = userEvent.setup();
  show(MANY);
  const text = screen.getByRole("group", { name: "Tool output" }).textContent ?? "";
  expect(text.length).toBeLessThanOrEqual(200_000);
  expect(text.trimEnd().endsWith("line 99999")).toBe(true);
  expect(/^line \d+\n/.test(text)).toBe(true);
  expect(screen.getByText(/Showing the last part only/)).toBeDefined();
  await user.click(screen.getByRole("button", { name: "Copy all output" }));
  const copied = await navigator.clipboard.readText();
  expect(copied.startsWith("» shell\nline 0\n")).toBe(true);
});
