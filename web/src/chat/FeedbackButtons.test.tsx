import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { FeedbackButtons, FeedbackMore, useFeedbackOf } from "@/chat/FeedbackButtons";
import { ChatFacts, FactsProvider } from "@/chat/facts";
import { asInBrowser } from "@/testing/browser";
import { json, Network, refusal } from "@/testing/server";
import { until } from "@/testing/waiting";

const ROUTE = "POST api/chats/c1/feedback";

function Both() {
  const state = useFeedbackOf("r1");
  return (
    <>
      <FeedbackButtons state={state} />
      <FeedbackMore state={state} />
    </>
  );
}

function show() {
  asInBrowser();
  const network = new Network().on(ROUTE, ({ body }) => json(body));
  network.on("DELETE api/chats/c1/feedback/r1", () => new Response(null, { status: 204 }));
  render(
    <FactsProvider value={new ChatFacts("c1")}>
      <Both />
    </FactsProvider>,
  );
  return network;
}

const good = () => screen.getByRole("button", { name: "Good answer" });
const bad = () => screen.getByRole("button", { name: "Bad answer" });
const isPressed = (button: HTMLElement) => button.getAttribute("aria-pressed") === "true";

it("is given, changed and taken back", async () => {
  const network = show();
  const states = [
    [good, [true, false]],
    [bad, [false, true]],
    [bad, [false, false]],
  ] as const;
  for (const [button, pressed] of states) {
    await userEvent.click(button());
    await until(() => expect([isPressed(good()), isPressed(bad())]).toEqual(pressed));
  }
  expect(network.to(ROUTE).map(({ body }) => body.value)).toEqual(["up", "down"]);
  expect(screen.queryByRole("textbox")).toBeNull();
});

it("asks what was wrong, and stores the comment", async () => {
  const network = show();
  await userEvent.click(bad());
  const field = await screen.findByRole("textbox", { name: "Comment on this answer (optional)" });
  await until(() => expect(document.activeElement).toBe(field));
  await userEvent.keyboard("Too short.{Enter}");
  expect(network.to(ROUTE).at(-1)?.body).toEqual({
    runId: "r1",
    value: "down",
    comment: "Too short.",
  });
  const again = await screen.findByRole("button", { name: "Edit your comment" });
  await until(() => expect(document.activeElement).toBe(again));
  await userEvent.click(again);
  expect(screen.getByRole("textbox")).toHaveProperty("value", "Too short.");
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("textbox")).toBeNull();
});

it("keeps the comment when the opinion changes", async () => {
  const network = show();
  await userEvent.click(bad());
  await userEvent.type(await screen.findByRole("textbox"), "Too short.{Enter}");
  await userEvent.click(good());
  expect(network.to(ROUTE).at(-1)?.body).toMatchObject({ value: "up", comment: "Too short." });
});

it("says so if it was not stored", async () => {
  show().on(ROUTE, () => refusal(500, "broken", "no"));
  await userEvent.click(good());
  expect((await screen.findByRole("alert")).textContent).toContain("Couldn't save your feedback");
  expect(isPressed(good())).toBe(false);
});
