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

async function open() {
  screen.getByRole("button").focus();
  await userEvent.keyboard("{Enter}");
  return screen.findAllByRole("menuitemradio");
}

it("shows the icon of each agent, which is no part of its name", async () => {
  const { container } = show({ ...agent("Writer"), icon: "🖋️" }, agent("Coder"));
  expect(container.textContent).toContain("🖋️");
  expect(screen.getByRole("button", { name: "Agent: Writer" })).toBeTruthy();
  const [first] = await open();
  expect(first?.textContent).toContain("🖋️");
  expect(screen.getByRole("menuitemradio", { name: /^Writer/ })).toBe(first);
});

describe("an agent whose packages are not installed", () => {
  const notice = "Will be installed at the first message.";

  it("can be selected where the server installs them", async () => {
    const { pick } = show(agent("Coder"), { ...agent("Writer"), availability: "installs", notice });
    const [, writer] = await open();
    expect(writer?.textContent).toContain(notice);
    await userEvent.click(writer as HTMLElement);
    expect(pick).toHaveBeenCalledExactlyOnceWith("Writer");
  });

  it("cannot be selected where it does not", async () => {
    const { pick } = show(agent("Coder"), {
      ...agent("Writer"),
      availability: "unavailable",
      notice: "Its packages are not installed.",
    });
    const [, writer] = await open();
    expect(writer?.textContent).toContain("Its packages are not installed.");
    expect(writer?.getAttribute("aria-disabled")).toBe("true");
    await userEvent.click(writer as HTMLElement, { pointerEventsCheck: 0 });
    expect(pick).not.toHaveBeenCalled();
  });
});

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
    expect(options.map(({ textContent }) => textContent?.trim())).toEqual([
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
