import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { Fork } from "@/api";
import { BranchSwitch } from "@/chat/BranchSwitch";
import { ChatFacts, FactsProvider } from "@/chat/facts";
import { asInBrowser } from "@/testing/browser";

const fork = (messageId: string, chosen: number): Fork => ({
  messageId,
  role: "assistant",
  chosen,
  versions: ["r1", "r2", "r3"].map((runId) => ({ runId, createdAt: 1 })),
});

function show(chosen: number, free = true) {
  asInBrowser();
  const facts = new ChatFacts("c1");
  facts.addForks([fork("m1", chosen)]);
  const onChoose = vi.fn(async () => true);
  const list = (id: string) => (
    <FactsProvider value={facts}>
      <BranchSwitch key={id} messageId={id} free={free} onChoose={onChoose} />
    </FactsProvider>
  );
  const { rerender, container } = render(list("m1"));
  return { facts, onChoose, container, shows: (id: string) => rerender(list(id)) };
}

const previous = () => screen.getByRole("button", { name: "Previous version" });
const next = () => screen.getByRole("button", { name: "Next version" });

it("says which version is shown, and leads to its neighbours", async () => {
  const { onChoose } = show(1);
  const group = screen.getByRole("group", { name: "Versions of this message" });
  expect(group.textContent).toBe("2/3Version 2 of 3");
  await userEvent.click(previous());
  await userEvent.click(next());
  expect(onChoose.mock.calls).toEqual([["r1"], ["r3"]]);
});

it("does nothing at an end, and keeps the focus there", async () => {
  const { onChoose } = show(2);
  expect(next().getAttribute("aria-disabled")).toBe("true");
  await userEvent.click(next());
  expect(onChoose).not.toHaveBeenCalled();
  expect(document.activeElement).toBe(next());
});

it("takes arrow keys", async () => {
  const { onChoose } = show(1);
  previous().focus();
  await userEvent.keyboard("{ArrowRight}{ArrowLeft}");
  expect(onChoose.mock.calls).toEqual([["r3"], ["r1"]]);
});

it("leaves it to the conversation to say why not, while a run is active", async () => {
  const { onChoose } = show(1, false);
  expect(next().getAttribute("aria-disabled")).toBe("true");
  expect(next().title).toContain("Stop it or let it finish");
  await userEvent.click(next());
  expect(onChoose).toHaveBeenCalledWith("r3");
});

it("has the focus on the same button of the version that comes", async () => {
  const { facts, shows } = show(1);
  await userEvent.click(previous());
  act(() => facts.addForks([fork("m0", 0)]));
  shows("m0");
  expect(screen.getByRole("group").textContent).toContain("1/3");
  expect(document.activeElement).toBe(previous());
});

it("is not there where a message has one version", () => {
  const { shows, container } = show(0);
  shows("other");
  expect(container.textContent).toBe("");
});
