import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Approval } from "@/parts/Approval";
import type { RequestBlock, ToolBlock } from "@/parts/blocks";
import { Question } from "@/parts/Question";

const request = (more: Partial<RequestBlock> = {}): RequestBlock => ({
  kind: "request",
  key: "m1/request:q1",
  id: "q1",
  about: "question",
  open: true,
  ...more,
});
const call: ToolBlock = {
  kind: "tool",
  key: "m1/tool:a",
  callId: "a",
  name: "delete_file",
  state: "asking",
  input: { path: "photos.zip" },
  decision: { id: "approval_1", asked: "May I delete it?" },
};
const button = (name: string) => screen.getByRole("button", { name }) as HTMLButtonElement;

test("an approval says what is asked, and with what", () => {
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

const reason = () => screen.queryByLabelText("Reason for denying (optional)");

test.each([
  ["Approve", true, undefined],
  ["Deny", false, "Because"],
])("%s tells the agent once; only a no has a reason", async (name, approved, why) => {
  const onDecide = vi.fn();
  render(<Approval block={call} onDecide={onDecide} />);
  await userEvent.click(button("Deny"));
  await userEvent.keyboard("Because");
  await userEvent.dblClick(button(name));
  expect(onDecide.mock.calls).toEqual([["approval_1", approved, why]]);
  expect(button("Approve").disabled).toBe(true);
  expect(screen.getByRole("status").textContent).toBe("Sending…");
});

test("a no is asked for its reason first, and Enter there sends it", async () => {
  const onDecide = vi.fn();
  render(<Approval block={call} onDecide={onDecide} />);
  expect(reason()).toBeNull();
  button("Deny").focus();
  await userEvent.keyboard("{Enter}");
  expect(onDecide).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(reason());
  await userEvent.keyboard(" No room {Enter}");
  expect(onDecide.mock.calls).toEqual([["approval_1", false, "No room"]]);
});

test("an answer that could not be sent can be given again", async () => {
  const onDecide = vi.fn(() => Promise.reject(new Error("offline")));
  render(<Approval block={call} onDecide={onDecide} />);
  await userEvent.click(button("Approve"));
  await waitFor(() => expect(button("Approve").disabled).toBe(false));
  expect(screen.getByRole("status").textContent).toContain("could not be sent");
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
  await userEvent.click(button("Deny"));
  await userEvent.keyboard("Too early{Enter}");
  expect(onDecide.mock.calls).toEqual([["q1", false, "Too early"]]);
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
  [{ decision: "cancelled" }, "The question was taken back."],
  [undefined, "Nobody answered."],
])("what was answered with %j stays to be read as %j", (answer, text) => {
  const { container } = render(
    <Question block={request({ open: false, prompt: "Which?", ...(answer && { answer }) })} />,
  );
  expect(container.textContent).toBe(`Which?${text}`);
  expect(screen.queryByRole("button")).toBeNull();
});
