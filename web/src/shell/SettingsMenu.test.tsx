import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { SettingsMenu } from "@/shell/SettingsMenu";
import { json, Network } from "@/testing/server";

async function open(sandbox: unknown) {
  new Network().on("GET api/server", () => json({ version: "1", sandbox }));
  render(<SettingsMenu onHelp={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: "Settings" }));
}

// The first test, as what is known of the server stays.
test("a server that does not know the route has no such line", async () => {
  const network = new Network();
  render(<SettingsMenu onHelp={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: "Settings" }));
  expect(network.to("GET api/server")).toHaveLength(1);
  expect(screen.getAllByRole("menuitem").at(-1)?.textContent).toBe("Keyboard shortcuts");
});

test.each([
  [{ name: "bubblewrap", isolates: true }, "Agents run in bubblewrap sandboxes."],
  [
    { name: "process", isolates: false },
    "Agents run as processes of the server's user, not isolated.",
  ],
  [{ name: "mine", isolates: false }, "Agents run in mine, not isolated."],
  [null, "Workers run the agents, each in its own sandbox."],
])("the sandbox %j is shown in the settings", async (sandbox, words) => {
  await open(sandbox);
  expect(await screen.findByText(words)).toBeTruthy();
});

test("the reason is shown to those who may know it", async () => {
  await open({ name: "process", isolates: false, reason: "bubblewrap is not installed" });
  expect(await screen.findByText("Bubblewrap is not installed.")).toBeTruthy();
});
