import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import Inspector from "@/inspector/Inspector";
import { inspectorView } from "@/state/panel";
import { asInBrowser } from "@/testing/browser";
import { json, later, Network, refusal, Stream } from "@/testing/server";

const RUN = "GET api/runs/run_1/inspect";

function network(): Network {
  asInBrowser();
  return new Network()
    .on("GET api/formats", () => json({ formats: [{ name: "ai-sdk", profiles: ["v6", "page"] }] }))
    .on("GET api/runs/run_1/models", () => json({ recording: false, calls: [], more: false }));
}
const CHOICE = "mobox:inspector-format";
afterEach(() => {
  localStorage.clear();
  sessionStorage.clear();
});
const show = () => render(<Inspector runId="run_1" />);

it("shows that it is loading", async () => {
  const answer = later();
  const net = network().on(RUN, () => answer.response);
  show();
  expect(await screen.findByText("Loading this run's log…")).toBeDefined();
  expect(net.to(RUN)[0]?.query.get("format")).toBe("ai-sdk:page");
});

it("shows that a log was deleted", async () => {
  network().on(RUN, () => refusal(410, "log_deleted", "it was deleted"));
  show();
  expect(await screen.findByText("Can't inspect this run")).toBeDefined();
  expect(screen.getByText("Its log was deleted.")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Retry" })).toBeNull();
});

it("shows the server's error, and retries on click", async () => {
  const net = network().on(RUN, () => refusal(400, "unknown_profile", "no such profile"));
  show();
  expect(await screen.findByText("no such profile")).toBeDefined();
  net.on(RUN, () => refusal(410, "log_deleted", "it was deleted"));
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await screen.findByText("Its log was deleted.")).toBeDefined();
  expect(net.to(RUN)).toHaveLength(2);
});

it("reads a run at once in the format that was chosen before, and only in that", async () => {
  localStorage.setItem(CHOICE, JSON.stringify({ name: "ai-sdk", profile: "v6" }));
  const formats = later();
  const net = network()
    .on("GET api/formats", () => formats.response)
    .on(RUN, () => refusal(410, "log_deleted", "it was deleted"));
  show();
  expect(await screen.findByText("Its log was deleted.")).toBeDefined();
  formats.answer(json({ formats: [{ name: "ai-sdk", profiles: ["v6", "page"] }] }));
  await screen.findByText("Its log was deleted.");
  expect(net.to(RUN).map(({ query }) => query.get("format"))).toEqual(["ai-sdk:page,ai-sdk:v6"]);
});

it("lets who chose a format that cannot be read choose another one", async () => {
  localStorage.setItem(CHOICE, JSON.stringify({ name: "ai-sdk", profile: "v6" }));
  const net = network().on(RUN, ({ query }) =>
    query.get("format")?.includes("v6")
      ? refusal(400, "broken", "it broke")
      : refusal(410, "log_deleted", "it was deleted"),
  );
  show();
  await screen.findByText("it broke");
  await userEvent.click(await screen.findByRole("button", { name: "Protocol AI SDK v6" }));
  await userEvent.click(await screen.findByRole("menuitemradio", { name: "page" }));
  expect(await screen.findByText("Its log was deleted.")).toBeDefined();
  expect(net.to(RUN)).toHaveLength(2);
});

/** A run of these events, as the server returns it. */
function logOf(...events: { type: string; unread?: boolean }[]): Response {
  const documents = events.map(({ unread = false, ...event }, at): [string, string] => {
    const usual = { ts: null, lines: [], frames: {}, endings: {}, waits: false, unread };
    return [`${at + 1}.1`, JSON.stringify({ seq: at + 1, id: at + 1, event, ...usual })];
  });
  return new Stream().sendFrames(...documents).cut();
}

it("shows the timeline first", async () => {
  network().on(RUN, ({ query }) =>
    query.has("after")
      ? new Response(null, { status: 204 })
      : logOf({ type: "start" }, { type: "tool_use_start" }, { type: "done" }),
  );
  show();
  expect(await screen.findByRole("tree", { name: "Steps" })).toBeDefined();
  expect(screen.getByText(/1 tool call/)).toBeDefined();
});

it("shows the number of unrecognized lines, and the lines on click", async () => {
  const raw = { type: "raw", raw: { a: 1 }, unread: true };
  inspectorView.set("events");
  network().on(RUN, ({ query }) =>
    query.has("after")
      ? new Response(null, { status: 204 })
      : logOf({ type: "start" }, raw, { type: "status" }, raw, { type: "done" }),
  );
  show();
  const count = await screen.findByRole("button", { name: "2 unrecognized" });
  await userEvent.click(count);
  expect(await screen.findByText(/^2 of 5 rows/)).toBeDefined();
});

it("shows no number of unrecognized lines where there are none", async () => {
  inspectorView.set("events");
  network().on(RUN, ({ query }) =>
    query.has("after")
      ? new Response(null, { status: 204 })
      : logOf({ type: "start" }, { type: "done" }),
  );
  show();
  expect(await screen.findByText("2 events in 2 rows")).toBeDefined();
  expect(screen.queryByText(/unrecognized/)).toBeNull();
});
