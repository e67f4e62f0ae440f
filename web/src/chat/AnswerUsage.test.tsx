import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { UIMessage } from "ai";
import { expect, it } from "vitest";
import type { RunFacts } from "@/api";
import { AnswerUsage } from "@/chat/AnswerUsage";
import { ChatUsage } from "@/chat/ChatUsage";
import { ChatFacts, FactsProvider } from "@/chat/facts";
import { asInBrowser } from "@/testing/browser";

const RUN: RunFacts = {
  id: "r1",
  agent: "demo",
  startedAt: 0,
  endedAt: 1,
  isChosen: true,
  model: "gpt-4o",
  simulated: false,
  usage: null,
  contextTokens: 32_000,
  contextWindow: 128_000,
};
const NONE = {
  inputTokens: null,
  outputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  costUsd: null,
};

const answer = (metadata: object, parts: unknown[] = []) =>
  ({ id: "r1", role: "assistant", parts, metadata }) as UIMessage;

function show(message: UIMessage, ...runs: RunFacts[]) {
  asInBrowser();
  const facts = new ChatFacts("c1");
  facts.state.set({ runs: new Map(runs.map((run) => [run.id, run])) });
  return render(
    <FactsProvider value={facts}>
      <AnswerUsage message={message} />
    </FactsProvider>,
  );
}

const pairs = (dialog: HTMLElement) =>
  within(dialog)
    .getAllByRole("term")
    .map((term) => [term.textContent, term.nextElementSibling?.textContent]);

it("is one line, and all that is known after a click", async () => {
  const usage = {
    inputTokens: 1840,
    outputTokens: 412,
    costUsd: 0.0117,
    cachedInputTokens: 1024,
    reasoningTokens: 64,
    numTurns: 3,
  };
  show(answer({ usage, durationMs: 7400 }), RUN);
  const line = screen.getByRole("button", { name: "1,840 tokens in · 412 out · $0.0117 · 7s" });
  await userEvent.click(line);
  const dialog = screen.getByRole("dialog", { name: "Tokens of this answer" });
  expect(pairs(dialog)).toEqual([
    ["Model", "gpt-4o"],
    ["Input tokens", "1,840"],
    ["read from cache", "1,024"],
    ["Output tokens", "412"],
    ["for reasoning", "64"],
    ["Cost", "$0.0117"],
    ["Model calls", "3"],
    ["Duration", "7s"],
  ]);
  expect(within(dialog).getByRole("meter", { name: "Context" })).toBeTruthy();
  expect(dialog.textContent).toContain("25% full");
  expect(dialog.textContent).toContain("32,000 of 128,000 tokens");
});

it("has no cost of a simulated model, and no meter of an unknown window", async () => {
  const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0.05 };
  const run = { ...RUN, simulated: true, contextWindow: null };
  show(answer({ simulated: true, durationMs: 7400, usage }), run);
  await userEvent.click(screen.getByRole("button", { name: "1 token in · 1 out · 7s" }));
  const dialog = screen.getByRole("dialog");
  expect(pairs(dialog)).toContainEqual(["Model", "gpt-4o, simulated model"]);
  expect(pairs(dialog)).toContainEqual(["Cost", "none, the model is simulated"]);
  expect(within(dialog).queryByRole("meter")).toBeNull();
});

it("is the usage so far during a run, and nothing where nothing is known", () => {
  const part = { type: "data-usage", id: "usage", data: { inputTokens: 3, outputTokens: 12 } };
  const { unmount } = show(answer({}, [part]));
  expect(screen.getByRole("button").textContent).toBe("3 tokens in · 12 out");
  unmount();
  const { container } = show(answer({}));
  expect(container.textContent).toBe("");
});

it("sums up the chat, with the context of the last answer of this branch", async () => {
  asInBrowser();
  const facts = new ChatFacts("c1");
  const other = { ...RUN, id: "r2", isChosen: false, contextTokens: 99_000 };
  const totals = { ...NONE, inputTokens: 12_000, outputTokens: 345, costUsd: 1.5 };
  const { container, rerender } = render(<ChatUsage facts={facts} />);
  expect(container.textContent).toBe("");
  const runs = new Map([RUN, other].map((run) => [run.id, run]));
  facts.state.set({ runs, totals });
  rerender(<ChatUsage facts={facts} />);
  const name = "Usage of this chat: 12,345 tokens · $1.50";
  await userEvent.click(screen.getByRole("button", { name }));
  const dialog = screen.getByRole("dialog", { name: "Usage of this chat" });
  expect(pairs(dialog)).toEqual([
    ["Answers", "2"],
    ["Input tokens", "12,000"],
    ["Output tokens", "345"],
    ["Cost", "$1.50"],
  ]);
  expect(dialog.textContent).toContain("32,000 of 128,000 tokens");
});
