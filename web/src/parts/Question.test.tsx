import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, onTestFinished, test, vi } from "vitest";
import { Approval } from "@/parts/Approval";
import type { Allowed } from "@/parts/allowed";
import type { RequestBlock, ToolBlock } from "@/parts/blocks";
import { Question } from "@/parts/Question";

const request = (more: Partial<RequestBlock> = {}): RequestBlock => ({
  kind: "request",
  key: "m1/request:q1",
  id: "q1",
  about: "question",
  allowed: ["approve", "reject"],
  open: true,
  ...more,
});
const call: ToolBlock = {
  kind: "tool",
  key: "m1/tool:a",
  callId: "a",
  name: "delete_file",
  state: "waiting",
  input: { path: "photos.zip" },
  decision: { id: "approval_1", question: "May I delete it?", allowed: ["approve", "reject"] },
};
const button = (name: string) => screen.getByRole("button", { name }) as HTMLButtonElement;

test("an approval shows the question and the input", () => {
  render(<Approval block={call} />);
  expect(screen.getByRole("group", { name: "May I delete it?" }).textContent).toContain(
    "delete_file",
  );
  expect(screen.getByLabelText("Parameters").textContent).toContain("photos.zip");
});

test.each([
  ["data", { path: `${"x".repeat(50_000)}\u202egpj.exe` }],
  ["words", `${"x".repeat(50_000)}\u202egpj.exe`],
])("an approval shows all of the %s, and what would hide in it", (_, input) => {
  render(<Approval block={{ ...call, name: "delete\u2066", input }} />);
  expect(screen.getByLabelText("Parameters").textContent).toContain("x\\u202egpj.exe");
  expect(screen.getByText("delete\\u2066")).toBeDefined();
});

const ALL = ["approve", "edit", "respond", "reject"] as const;
const renderApproval = (allowed: readonly Allowed[], input: unknown = call.input) => {
  const onDecide = vi.fn();
  render(
    <Approval
      block={{ ...call, input, decision: { id: "approval_1", allowed } }}
      onDecide={onDecide}
    />,
  );
  return onDecide;
};
const offered = () =>
  screen.getAllByRole("button", { name: /[a-z]/ }).map((each) => each.textContent);
const field = (name: string) => screen.getByLabelText(name) as HTMLTextAreaElement;

test.each([
  [
    ["approve", "reject"],
    ["Approve", "Allow for this chat", "Deny", "Deny with a reason…"],
  ],
  [ALL, ["Approve", "Allow for this chat", "Edit…", "Respond…", "Deny", "Deny with a reason…"]],
  [["edit"], ["Edit…"]],
  [["respond"], ["Respond…"]],
] as const)("%j is what is offered", (allowed, buttons) => {
  renderApproval(allowed);
  expect(offered().filter((text) => text)).toEqual(buttons);
});

test("there is nothing to edit without an input", () => {
  const block = request({ about: "approval", allowed: ALL });
  render(<Question block={block} />);
  expect(offered()).toEqual(["Approve", "Respond…", "Deny", "Deny with a reason…"]);
});

test.each([
  ["Approve", "approved"],
  ["Deny", "denied"],
])("%s decides at the first click, once", async (name, decision) => {
  const onDecide = renderApproval(["approve", "reject"]);
  await userEvent.dblClick(button(name));
  expect(onDecide.mock.calls).toEqual([["approval_1", { decision }]]);
  expect(button("Approve").disabled).toBe(true);
  expect(screen.getByRole("status").textContent).toBe("Sending…");
});

test.each([
  ["This tool, with any input", "chat"],
  ["This tool, with this input only", "chat_input"],
])("%s is chosen from a menu, by keyboard alone", async (name, scope) => {
  const onDecide = renderApproval(["approve", "reject"]);
  button("Allow for this chat").focus();
  await userEvent.keyboard("{Enter}");
  const item = await screen.findByRole("menuitem", { name });
  while (document.activeElement !== item) await userEvent.keyboard("{ArrowDown}");
  expect(onDecide).not.toHaveBeenCalled();
  await userEvent.keyboard("{Enter}");
  expect(onDecide.mock.calls).toEqual([["approval_1", { decision: "approved", scope }]]);
});

test("only a call can be allowed for the chat", () => {
  render(<Question block={request({ about: "approval" })} />);
  expect(screen.queryByRole("button", { name: "Allow for this chat" })).toBeNull();
});

test("nothing has the focus that Enter would decide by", () => {
  renderApproval(ALL);
  expect(document.activeElement).toBe(document.body);
});

test("a reason is written in a field of its own, and Enter there sends it", async () => {
  const onDecide = renderApproval(["approve", "reject"]);
  button("Deny with a reason…").focus();
  await userEvent.keyboard("{Enter}");
  expect(onDecide).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(field("Reason for denying"));
  expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
  await userEvent.keyboard(" {Enter}");
  expect(button("Deny with this reason").disabled).toBe(true);
  await userEvent.keyboard("No room {Enter}");
  expect(onDecide.mock.calls).toEqual([["approval_1", { decision: "denied", reason: "No room" }]]);
});

test.each([
  "Edit…",
  "Respond…",
  "Deny with a reason…",
])("%s decides nothing where it is cancelled, by button or key", async (name) => {
  const onDecide = renderApproval(ALL);
  const onKey = vi.fn();
  document.addEventListener("keydown", onKey);
  onTestFinished(() => document.removeEventListener("keydown", onKey));
  await userEvent.click(button(name));
  await userEvent.click(button("Cancel"));
  expect(document.activeElement).toBe(button(name));
  await userEvent.click(button(name));
  await userEvent.keyboard("{Escape}");
  expect(document.activeElement).toBe(button(name));
  expect(onKey.mock.calls.every(([event]) => event.key !== "Escape")).toBe(true);
  expect(onDecide).not.toHaveBeenCalled();
});

test("a changed input is approved as it was changed", async () => {
  const onDecide = renderApproval(ALL);
  await userEvent.click(button("Edit…"));
  const input = field("Tool input as JSON");
  expect(document.activeElement).toBe(input);
  expect(input.value).toBe('{\n  "path": "photos.zip"\n}');
  expect(screen.queryByLabelText("Parameters")).toBeNull();
  fireEvent.change(input, { target: { value: '{"path": "b.zip"}' } });
  await userEvent.click(button("Approve with changes"));
  expect(onDecide.mock.calls).toEqual([
    ["approval_1", { decision: "edited", value: { path: "b.zip" } }],
  ]);
});

test.each([
  ['{"path": }', /^Invalid JSON: ./],
  ["[1]", /^The input must be a JSON object/],
])("an input %j is not sent, and the reason is shown", async (text, problem) => {
  const onDecide = renderApproval(ALL);
  await userEvent.click(button("Edit…"));
  const input = field("Tool input as JSON");
  fireEvent.change(input, { target: { value: text } });
  expect(screen.getByRole("alert").textContent).toBe("");
  await userEvent.click(button("Approve with changes"));
  expect(screen.getByRole("alert").textContent).toMatch(problem);
  expect(input.getAttribute("aria-invalid")).toBe("true");
  fireEvent.change(input, { target: { value: "{}" } });
  expect(screen.getByRole("alert").textContent).toBe("");
  expect(onDecide).not.toHaveBeenCalled();
});

test.each([
  [ALL, { decision: "approved" }],
  [["edit", "reject"], { decision: "edited", value: { path: "photos.zip" } }],
] as const)("an input that was left as it is, where %j is allowed, is %j", async (allowed, reply) => {
  const onDecide = renderApproval(allowed);
  await userEvent.click(button("Edit…"));
  await userEvent.click(button("Approve with changes"));
  expect(onDecide.mock.calls).toEqual([["approval_1", reply]]);
});

test("an input of words is changed as words", async () => {
  const onDecide = renderApproval(ALL, "rm -r x");
  await userEvent.click(button("Edit…"));
  await userEvent.type(field("Tool input"), "y");
  await userEvent.click(button("Approve with changes"));
  expect(onDecide.mock.calls).toEqual([["approval_1", { decision: "edited", value: "rm -r xy" }]]);
});

test("what would hide in an input is seen where it is changed, and stays what it is", async () => {
  const onDecide = renderApproval(ALL, { path: "a\u202eb", more: 1 });
  await userEvent.click(button("Edit…"));
  const input = field("Tool input as JSON");
  expect(input.value).toContain("a\\u202eb");
  fireEvent.change(input, { target: { value: input.value.replace("1", "2") } });
  await userEvent.click(button("Approve with changes"));
  expect(onDecide.mock.calls[0]?.[1].value).toEqual({ path: "a\u202eb", more: 2 });
});

test("a response stands for the result of the tool", async () => {
  const onDecide = renderApproval(ALL);
  await userEvent.click(button("Respond…"));
  expect(button("Send response").disabled).toBe(true);
  await userEvent.keyboard("It is gone{Enter}already");
  await userEvent.click(button("Send response"));
  expect(onDecide.mock.calls).toEqual([
    ["approval_1", { decision: "answered", value: "It is gone\nalready" }],
  ]);
});

test("an answer that could not be sent can be given again", async () => {
  const onDecide = vi.fn(() => Promise.reject(new Error("offline")));
  render(<Approval block={call} onDecide={onDecide} />);
  await userEvent.click(button("Approve"));
  await waitFor(() => expect(button("Approve").disabled).toBe(false));
  expect(screen.getByRole("status").textContent).toContain("Couldn't send your answer");
});

test("a few options are buttons, and a click is the answer", async () => {
  const onAnswer = vi.fn();
  render(
    <Question
      block={request({ prompt: "Which?", options: ["oak", "pine"] })}
      onAnswer={onAnswer}
    />,
  );
  await userEvent.click(button("pine"));
  expect(onAnswer.mock.calls).toEqual([["q1", "pine", "answered"]]);
});

test("several questions are answered together", async () => {
  const onAnswer = vi.fn();
  const options = {
    questions: [
      {
        question: "Which color?",
        options: [{ label: "Red", description: "warm" }, { label: "Blue" }],
      },
      { question: "Which sizes?", multiSelect: true, options: [{ label: "S" }, { label: "M" }] },
    ],
  };
  render(<Question block={request({ options })} onAnswer={onAnswer} />);
  expect(button("Send").disabled).toBe(true);
  await userEvent.click(screen.getByRole("radio", { name: "Blue" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "M" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "S" }));
  await userEvent.click(button("Send"));
  expect(onAnswer.mock.calls).toEqual([
    ["q1", { answers: { "Which color?": "Blue", "Which sizes?": "S, M" } }, "answered"],
  ]);
});

test("words of one's own replace a choice, and a choice replaces them", async () => {
  const options = {
    questions: [{ question: "Which?", options: [{ label: "Red" }, { label: "Blue" }] }],
  };
  render(<Question block={request({ options })} />);
  const red = screen.getByRole("radio", { name: "Red" }) as HTMLInputElement;
  const other = screen.getByLabelText("Something else") as HTMLInputElement;
  await userEvent.click(red);
  await userEvent.type(other, "green");
  expect(red.checked).toBe(false);
  await userEvent.click(red);
  expect(other.value).toBe("");
});

test("a question without options is answered in words, by Enter", async () => {
  const onAnswer = vi.fn();
  render(<Question block={request({ about: "input", prompt: "Name?" })} onAnswer={onAnswer} />);
  await userEvent.type(screen.getByLabelText("Your answer"), "Ada{Enter}");
  expect(onAnswer.mock.calls).toEqual([["q1", "Ada", "answered"]]);
});

test("an approval without a call is a decision with its reason, not a value", async () => {
  const onDecide = vi.fn();
  render(<Question block={request({ about: "approval", prompt: "Go on?" })} onDecide={onDecide} />);
  await userEvent.click(button("Deny with a reason…"));
  await userEvent.keyboard("Too early{Enter}");
  expect(onDecide.mock.calls).toEqual([["q1", { decision: "denied", reason: "Too early" }]]);
});

test("a sign-in leads only to addresses that are safe", () => {
  const auth = (url: string) => request({ about: "auth", options: { url } });
  const { rerender } = render(<Question block={auth("https://id.example/x")} />);
  expect(screen.getByRole("link").getAttribute("href")).toBe("https://id.example/x");
  rerender(<Question block={auth("javascript:alert(1)")} />);
  expect(screen.queryByRole("link")).toBeNull();
});

test.each([
  [{ decision: "answered", value: "oak" }, "You answered: oak"],
  [{ decision: "answered", value: { answers: { "Which?": "Blue" } } }, "You answered: Blue"],
  [{ decision: "denied" }, "You denied this."],
  [{ decision: "denied", reason: "Too early" }, "You denied this: Too early"],
  [{ decision: "cancelled" }, "The agent withdrew the question."],
  [undefined, "No answer was given."],
])("what was answered with %j stays to be read as %j", (answer, text) => {
  const { container } = render(
    <Question block={request({ open: false, prompt: "Which?", ...(answer && { answer }) })} />,
  );
  expect(container.textContent).toBe(`Which?${text}`);
  expect(screen.queryByRole("button")).toBeNull();
});
