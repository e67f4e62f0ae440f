import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Agent } from "@/api";
import { AgentPicker } from "@/chat/AgentPicker";
import type { AgentChoice } from "@/chat/useAgentChoice";
import { asInBrowser } from "@/testing/browser";
import { json, Network } from "@/testing/server";

beforeEach(() => {
  asInBrowser();
  new Network().on("GET api/agents", () => json({ agents: [] }));
});

const agent = (id: string, model?: Agent["model"]): Agent => ({
  id,
  name: id,
  description: `${id} works.`,
  model,
});

function show(...known: Agent[]) {
  const choice: AgentChoice = {
    known,
    next: known[0],
    hasDemo: false,
    isOnlyDemo: false,
    isDemo: false,
    setDemo: vi.fn(),
    pick: vi.fn(),
  };
  return { ...choice, ...render(<AgentPicker choice={choice} />) };
}

describe("where an agent's model is", () => {
  it.each([
    ["simulated", "Writer simulated model"],
    ["recorded", "Writer recorded model"],
    ["provider", "Writer"],
    [null, "Writer"],
    [undefined, "Writer"],
    ["of a later version" as never, "Writer"],
  ] as const)("is beside the name of the only one: %s", (model, text) => {
    const { container } = show(agent("Writer", model));
    expect(container.textContent?.trim()).toBe(text);
  });

  it("is part of the button's name, and of each option's", async () => {
    const { pick } = show(
      agent("Writer", "simulated"),
      agent("Player", "recorded"),
      agent("Coder", "provider"),
    );
    const button = screen.getByRole("button", { name: "Agent: Writer, simulated model" });
    button.focus();
    await userEvent.keyboard("{Enter}");
    const options = await screen.findAllByRole("menuitemradio");
    expect(options.map(({ textContent }) => textContent)).toEqual([
      "Writer simulated model Writer works.",
      "Player recorded model Player works.",
      "Coder  Coder works.",
    ]);
    await userEvent.click(screen.getByRole("menuitemradio", { name: /^Player recorded model/ }));
    expect(pick).toHaveBeenCalledExactlyOnceWith("Player");
  });

  it("is not in the name of the button for others", () => {
    show(agent("Coder", "provider"), agent("Writer", "simulated"));
    expect(screen.getByRole("button", { name: "Agent: Coder" })).toBeTruthy();
  });
});
