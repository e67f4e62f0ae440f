import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Composer } from "@/chat/Composer";
import { asInBrowser } from "@/testing/browser";

beforeEach(() => asInBrowser());

const SLASH = {
  agents: [
    { id: "writer", name: "Writer", description: "Writes." },
    { id: "research", name: "Deep research", description: "Looks things up." },
    { id: "gone", name: "Gone", description: "", availability: "unavailable" as const },
  ],
  starters: ["Read the news", "Write a poem about rain"],
};

function show() {
  const actions = {
    onSend: vi.fn(),
    onQueue: vi.fn(),
    onStop: vi.fn(),
    onEditLast: vi.fn(),
    onAgent: vi.fn(),
  };
  render(<Composer draft="c1" life="idle" slash={SLASH} {...actions} />);
  return actions;
}
const field = () => screen.getByRole<HTMLTextAreaElement>("textbox");
const options = () => screen.queryAllByRole("option").map(({ textContent }) => textContent);
const active = () => {
  const id = field().getAttribute("aria-activedescendant") ?? "";
  return document.getElementById(id)?.textContent;
};

describe("a slash at the start", () => {
  it("lists agents and starters, and filters them by the words typed", async () => {
    show();
    await userEvent.type(field(), "/");
    expect(options()).toEqual([
      "WriterWrites.",
      "Deep researchLooks things up.",
      "Read the news",
      "Write a poem about rain",
    ]);
    const list = screen.getByRole("listbox", { name: "Agents and starters" });
    expect(
      within(list)
        .getAllByRole("group")
        .map(({ ariaLabel }) => ariaLabel),
    ).toEqual(["Agents", "Starters"]);
    expect(screen.getByText("4 suggestions")).toBeTruthy();
    await userEvent.type(field(), "wri");
    expect(options()).toEqual(["WriterWrites.", "Write a poem about rain"]);
    await userEvent.type(field(), "te p");
    expect(options()).toEqual(["Write a poem about rain"]);
  });

  it("moves by arrows, in a circle, and selects an agent by Enter", async () => {
    const { onAgent, onSend } = show();
    await userEvent.type(field(), "/{ArrowUp}");
    expect(active()).toBe("Write a poem about rain");
    await userEvent.type(field(), "{ArrowDown}{ArrowDown}");
    expect(active()).toContain("Deep research");
    await userEvent.type(field(), "{Enter}");
    expect(onAgent).toHaveBeenCalledExactlyOnceWith("research");
    expect(onSend).not.toHaveBeenCalled();
    expect(field().value).toBe("");
  });

  it("puts a starter into the field, to be changed or sent", async () => {
    const { onSend } = show();
    await userEvent.type(field(), "/poem{Enter}");
    expect(field().value).toBe("Write a poem about rain");
    expect(onSend).not.toHaveBeenCalled();
    await userEvent.type(field(), "{Enter}");
    expect(onSend).toHaveBeenCalledExactlyOnceWith("Write a poem about rain", []);
  });

  it("is text after Escape, and where nothing matches", async () => {
    const { onSend } = show();
    await userEvent.type(field(), "/wr{Escape}");
    expect(options()).toEqual([]);
    await userEvent.type(field(), "{Enter}");
    expect(onSend).toHaveBeenLastCalledWith("/wr", []);
    await userEvent.clear(field());
    await userEvent.type(field(), "/compact{Enter}");
    expect(onSend).toHaveBeenLastCalledWith("/compact", []);
    await userEvent.clear(field());
    await userEvent.type(field(), "a /");
    expect(options()).toEqual([]);
  });
});
