import { expect, it } from "vitest";
import { plainText } from "@/panes/plainText";
import { TerminalText } from "@/panes/terminalText";
import type { PaneMessage } from "@/panes/wire";

const ESC = "\u001b";

const message = (id: string, content: string, more: Partial<PaneMessage> = {}): PaneMessage => ({
  id,
  pane: "terminal",
  content,
  isMore: false,
  isPending: false,
  isRetracted: false,
  ...more,
});
const ran = (id: string, content: string, toolName = "shell") =>
  message(id, content, { event: "tool_invocation", toolId: id, toolName });
const printed = (id: string, content: string, more: Partial<PaneMessage> = {}) =>
  message(`${id}.out`, content, { event: "tool_output", toolId: id, ...more });
const shown = (...messages: PaneMessage[]) => plainText(new TerminalText().of(messages));

it("has a prompt before a command, and a tool's name before what it was given", () => {
  expect(shown(ran("a", "$ ls"), printed("a", "x\ny\n"), ran("b", '{"q":1}', "search"))).toBe(
    '$ ls\nx\ny\n» search {"q":1}',
  );
});

it("labels output with its tool, since the code is in another pane", () => {
  expect(shown(printed("c", "42", { toolName: "python" }))).toBe("» python\n42");
});

it("marks errors with a word", () => {
  const failed = { title: "Error" };
  expect(shown(ran("a", "$ false"), printed("a", "no", failed), message("b", "gone", failed))).toBe(
    "$ false\n✗ Error: no\n✗ Error: gone",
  );
});

it("cuts a wall of data, which the chat has, and nothing that a program printed", () => {
  const wall = "x".repeat(5_000);
  const cut = `${wall.slice(0, 400)}\n… Shortened; full output in the chat.`;
  expect(shown(ran("a", "{}", "chart"), printed("a", wall), message("z", "end"))).toBe(
    `» chart {}\n${cut}\nend`,
  );
  expect(shown(ran("a", "$ cat"), printed("a", wall))).toBe(`$ cat\n${wall}`);
  expect(shown(printed("c", wall, { toolName: "python" }))).toBe(`» python\n${wall}`);
});

it("goes on while a wall of data grows, and cuts no sequence in two", () => {
  const terminal = new TerminalText();
  let before = "";
  for (const length of [300, 398, 2_000, 3_000]) {
    const wall = `${"x".repeat(398)}${ESC}]0;owned`.padEnd(3_000, "y").slice(0, length);
    const now = terminal.of([ran("a", "{}", "chart"), printed("a", wall)]);
    expect(now.startsWith(before)).toBe(true);
    before = now;
  }
  expect(plainText(before).endsWith("x\n… Shortened; full output in the chat.")).toBe(true);
});

it("shows nothing of a call without input", () => {
  expect(shown(ran("a", ""), message("s", "Searching", { title: "Progress" }))).toBe(
    "Progress: Searching",
  );
});

it("only appends, as long as messages only grow", () => {
  const terminal = new TerminalText();
  let before = "";
  for (const pieces of ["a", "ab", `ab${ESC}[3`, `ab${ESC}[31mc\r`, `ab${ESC}[31mc\r\nd`]) {
    const now = terminal.of([ran("a", "$ x"), printed("a", pieces)]);
    expect(now.startsWith(before)).toBe(true);
    before = now;
  }
  const after = terminal.of([
    ran("a", "$ x"),
    printed("a", `ab${ESC}[31mc\r\nd`),
    message("z", "end"),
  ]);
  expect(after.startsWith(before)).toBe(true);
  expect(plainText(after)).toBe("$ x\nabc\nd\nend");
});

it("shows what takes the place of something else", () => {
  const terminal = new TerminalText();
  const progress = (content: string) => terminal.of([message("p", content), message("q", "more")]);
  expect(plainText(progress("1"))).toBe("1\nmore");
  expect(plainText(progress("2"))).toBe("2\nmore");
});

it.each([
  ["an error", printed("a", `\r${ESC}[2Kall is well`, { title: "Error" }), "✗ Error:\nall is well"],
  ["a command", ran("a", `$ rm -rf /\r${ESC}[2Kls`), "$ rm -rf /\nls"],
  ["a call", ran("a", `{}${ESC}[2K${ESC}[1G» other`, "search"), "» search {}» other"],
])("lets %s not erase our label", (_, message, lines) => {
  expect(shown(ran("a", "$ x"), { ...message, id: "z" })).toBe(`$ x\n${lines}`);
});

it("lets no tool's name do anything", () => {
  expect(new TerminalText().of([ran("a", "{}", `x${ESC}]0;owned\u0007\ny`)])).toContain(
    "x]0;ownedy",
  );
});

it.each([
  ["10%\r50%\r100%", "100%"],
  ["abcdef\rxy", "xycdef"],
  [`abcdef\r${ESC}[Kxy`, "xy"],
  [`abc${ESC}[2K\rx`, "x"],
  ["ab\bc", "ac"],
  [`${ESC}[31mred${ESC}[0m`, "red"],
  ["one  \r\ntwo", "one\ntwo"],
])("reads %j as %j", (text, lines) => expect(plainText(text)).toBe(lines));
