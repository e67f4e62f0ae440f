import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { App } from "@/App";
import type { ListedChat } from "@/api";
import { agents } from "@/state/agents";
import { asInBrowser } from "@/testing/browser";
import {
  agent,
  chat,
  ENDS,
  json,
  later,
  Network,
  refusal,
  Stream,
  textChunks,
  user,
} from "@/testing/server";

const DEMO = {
  id: "demo",
  name: "Demo",
  description: "Shows things.",
  starters: ["All kinds of events"],
};
const WRITER = { id: "writer", name: "Writer", description: "Writes." };

let network: Network;
let stored: Partial<ListedChat>[];

beforeEach(async () => {
  asInBrowser();
  const base = document.createElement("base");
  base.href = "/";
  document.head.replaceChildren(base);
  stored = [];
  network = new Network()
    .on("GET api/agents", () => json({ agents: [DEMO] }))
    .on("GET api/chats", ({ query }) => {
      const found = stored.filter(({ title }) => title?.includes(query.get("query") ?? ""));
      return json({ chats: found, before: null });
    });
  await agents.load();
});

const row = (id: string, title: string) => ({ id, title, createdAt: 1, updatedAt: Date.now() });
const field = () => screen.getByRole("textbox", { name: "Your message" });
const sidebar = () => within(screen.getByRole("navigation", { name: "Chats" }));
const log = async () => within(await screen.findByRole("log"));

async function open(path: string) {
  history.replaceState(null, "", path);
  const shown = render(<App />);
  await waitFor(() => expect(network.to("GET api/chats").length).toBeGreaterThan(0));
  return shown;
}

describe("the page", () => {
  it("sends a first message, shows the answer, and has an address and a title then", async () => {
    network.on("POST api/chat", ({ body }) => {
      stored = [row(body.id, "Hi there")];
      return new Stream().send(...textChunks("Hello"), ...ENDS).end();
    });
    await open("/");
    await userEvent.type(field(), "Hi there{Enter}");
    expect(await (await log()).findByText("Hello")).toBeTruthy();
    await waitFor(() => expect(document.title).toBe("Hi there · Mobox"));
    const [row1] = stored;
    expect(location.pathname).toBe(`/chat/${row1?.id}`);
    const link = await sidebar().findByRole("link", { name: /Hi there/ });
    expect(link.getAttribute("aria-current")).toBe("page");
  });

  it("does not move to an address that the server does not know", async () => {
    network.on("POST api/chat", () => refusal(429, "too_many_runs", "Too many runs go on."));
    await open("/");
    await userEvent.type(field(), "Hi{Enter}");
    expect((await screen.findByRole("alert")).textContent).toContain("Too many runs go on.");
    expect(location.pathname).toBe("/");
    expect(field()).toHaveProperty("value", "Hi");
  });

  it("has what the server does not have yet in the field again, for who left and came back", async () => {
    stored = [row("c1", "Apples"), row("c2", "Pears")];
    for (const id of ["c1", "c2"])
      network.on(`GET api/chats/${id}`, () => json(chat([user("m1", "one")], { id })));
    await open("/chat/c1");
    await screen.findByText("one");
    network.on("POST api/chat", () => Promise.reject(new TypeError("fetch failed")));
    await userEvent.type(field(), "Hi{Enter}");
    expect(await (await log()).findByText("Hi")).toBeTruthy();
    expect(field()).toHaveProperty("value", "");
    await userEvent.click(sidebar().getByRole("link", { name: "Pears" }));
    expect(field()).toHaveProperty("value", "");
    await userEvent.click(sidebar().getByRole("link", { name: /Apples/ }));
    expect(field()).toHaveProperty("value", "Hi");
  });

  it("has it in the field after a reload, too, and sends it as the same message", async () => {
    network.on("POST api/chat", () => Promise.reject(new TypeError("fetch failed")));
    const { unmount } = await open("/");
    await userEvent.type(field(), "Hi{Enter}");
    expect(await (await log()).findByText("Hi")).toBeTruthy();
    unmount();
    await open("/");
    expect(field()).toHaveProperty("value", "Hi");
    network.on("POST api/chat", () => new Stream().send(...textChunks("Hello"), ...ENDS).end());
    await userEvent.type(field(), "{Enter}");
    expect(await (await log()).findByText("Hello")).toBeTruthy();
    const sent = network.to("POST api/chat");
    expect(sent.at(-1)?.body).toEqual(sent[0]?.body);
    const [first, last] = [sent[0], sent.at(-1)].map((each) => each?.headers);
    expect(last?.get("idempotency-key")).toBe(first?.get("idempotency-key"));
  });

  it("loads the chats when the server can be reached again", async () => {
    stored = [row("c1", "Apples")];
    network.isDown = true;
    await open("/");
    expect(await sidebar().findByText("Couldn't load chats.")).toBeTruthy();
    expect((await screen.findByText("Request Failed.")).closest("[role=status]")).toBeTruthy();
    network.isDown = false;
    await userEvent.click(screen.getByRole("button", { name: "Retry" }));
    expect(await sidebar().findByRole("link", { name: "Apples" })).toBeTruthy();
    expect(screen.queryByText("Request Failed.")).toBeNull();
  });

  it("offers what the agent suggests, and sends what is chosen", async () => {
    network.on("POST api/chat", () => new Stream().send(...textChunks("All."), ...ENDS).end());
    await open("/");
    await userEvent.click(await screen.findByRole("button", { name: "All kinds of events" }));
    await waitFor(() => expect(network.to("POST api/chat")).toHaveLength(1));
    const body = network.to("POST api/chat")[0]?.body;
    expect(body).toMatchObject({
      agent: "demo",
      message: { parts: [{ text: "All kinds of events" }] },
    });
  });

  it("shows the agent that answers, with its icon, model and what it lacks", async () => {
    const notice = "Will be installed at the first message.";
    const more = { icon: "🎬", model: "simulated", availability: "installs", notice };
    network.on("GET api/agents", () => json({ agents: [{ ...DEMO, ...more }] }));
    await agents.load();
    await open("/");
    expect(await screen.findByRole("heading", { name: "Demo" })).toBeTruthy();
    expect(screen.getByText("Shows things.")).toBeTruthy();
    expect(screen.getByText(/^Its model is simulated/)).toBeTruthy();
    expect(screen.getByText(notice)).toBeTruthy();
    expect(screen.getByText(/^Only the demo agent is installed/)).toBeTruthy();
    expect(screen.getByText("🎬"), "it is named once").toBeTruthy();
    expect(screen.getByText("Demo")).toBeTruthy();
  });

  it("selects the server's default for a new chat, or the last one that the person selected", async () => {
    network.on("GET api/agents", () => json({ agents: [WRITER, DEMO], default: "demo" }));
    await agents.load();
    const { unmount } = await open("/");
    await userEvent.click(await screen.findByRole("button", { name: "Agent: Demo" }));
    await userEvent.click(await screen.findByRole("menuitemradio", { name: /Writer/ }));
    unmount();
    await open("/");
    expect(await screen.findByRole("button", { name: "Agent: Writer" })).toBeTruthy();
  });

  it("shows a stored chat without announcing it", async () => {
    stored = [row("c1", "A chat")];
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
    await open("/chat/c1");
    expect(await screen.findByText("first")).toBeTruthy();
    expect(screen.getByRole("log").getAttribute("aria-live")).toBe("off");
    expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("A chat");
  });

  it("shows a notice for a missing chat, with a way back", async () => {
    await open("/chat/nope");
    expect(await screen.findByText("Chat not found")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Start a new chat" }));
    expect(location.pathname).toBe("/");
    expect(await screen.findByText("Shows things.")).toBeTruthy();
  });

  it("has the way to the chats also at an address that means nothing", async () => {
    asInBrowser({ wide: false });
    await open("/elsewhere");
    expect(screen.getByRole("heading", { name: "Not found" })).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Open chat list" }));
    const drawer = within(await screen.findByRole("dialog", { name: "Chats" }));
    await userEvent.click(drawer.getByRole("button", { name: "Close chat list" }));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("has one chat list: beside the chat, or in a drawer", async () => {
    asInBrowser({ wide: false });
    await open("/");
    expect(document.querySelector("nav")).toBeNull();
    await userEvent.keyboard("{Control>}k{/Control}");
    const field = await screen.findByRole("textbox", { name: "Search chats" });
    await waitFor(() => expect(document.activeElement).toBe(field));
    expect(document.querySelectorAll("nav")).toHaveLength(1);
  });

  it("marks chats in which an agent works, or waits for the person", async () => {
    stored = [
      { ...row("c1", "Apples"), status: "running" },
      { ...row("c2", "Pears"), status: "waiting" },
    ];
    await open("/");
    expect(
      await sidebar().findByRole("link", { name: /Apples ?The agent is working/ }),
    ).toBeTruthy();
    expect(sidebar().getByRole("link", { name: /Pears ?Waiting for you/ })).toBeTruthy();
  });

  it("follows the browser's way back", async () => {
    stored = [row("c1", "A chat")];
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
    await open("/");
    await userEvent.click(await sidebar().findByRole("link", { name: "A chat" }));
    expect(await screen.findByText("first")).toBeTruthy();
    history.back();
    expect(await screen.findByText("Shows things.")).toBeTruthy();
  });
});

describe("the sidebar", () => {
  beforeEach(() => {
    stored = [row("c1", "Apples"), row("c2", "Pears")];
  });

  it("searches once the user has stopped typing, and shows if nothing matches", async () => {
    await open("/");
    await sidebar().findByText("Apples");
    await userEvent.keyboard("{Control>}k{/Control}");
    await waitFor(() =>
      expect(document.activeElement).toBe(screen.getByRole("textbox", { name: "Search chats" })),
    );
    await userEvent.keyboard("Pea");
    await waitFor(() => expect(sidebar().queryByText("Apples")).toBeNull());
    expect(sidebar().getByText("Pears")).toBeTruthy();
    await userEvent.keyboard("nuts");
    expect(await sidebar().findByText("No chats match “Peanuts”.")).toBeTruthy();
    await userEvent.keyboard("{Escape}");
    expect(await sidebar().findByText("Apples")).toBeTruthy();
  });

  it("does not show what an earlier search finds later", async () => {
    const slow = later();
    const found = (title: string) => json({ chats: [row(title, title)], before: null });
    network.on("GET api/chats", ({ query }) => {
      const wanted = query.get("query") ?? "";
      return wanted === "Pea" ? slow.response : found(wanted || "Apples");
    });
    await open("/");
    await userEvent.type(screen.getByRole("textbox", { name: "Search chats" }), "Pea");
    const searches = () => network.requests.filter(({ query }) => query.get("query"));
    await waitFor(() => expect(searches()).toHaveLength(1));
    await userEvent.keyboard("nuts");
    await sidebar().findByText("Peanuts");
    await act(async () => slow.answer(found("Pears")));
    expect(sidebar().queryByText("Pears")).toBeNull();
    expect(sidebar().getByText("Peanuts")).toBeTruthy();
  });

  it("confirms before it deletes, and leaves the deleted chat", async () => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")], { title: "Apples" })));
    network.on("DELETE api/chats/c1", () => {
      stored = [row("c2", "Pears")];
      return new Response(null, { status: 204 });
    });
    await open("/chat/c1");
    await userEvent.click(await sidebar().findByRole("button", { name: "Options for “Apples”" }));
    await userEvent.click(await screen.findByRole("menuitem", { name: "Delete" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(network.to("DELETE api/chats/c1")).toHaveLength(0);
    await userEvent.click(dialog.getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(location.pathname).toBe("/"));
    expect(sidebar().queryByText("Apples")).toBeNull();
  });

  it("renames a chat", async () => {
    network.on("PATCH api/chats/c2", ({ body }) => {
      stored = [row("c1", "Apples"), row("c2", body.title)];
      return json(row("c2", body.title));
    });
    await open("/");
    await userEvent.click(await sidebar().findByRole("button", { name: "Options for “Pears”" }));
    await userEvent.click(await screen.findByRole("menuitem", { name: "Rename" }));
    const title = await screen.findByRole("textbox", { name: "Title" });
    await userEvent.clear(title);
    await userEvent.type(title, "Plums{Enter}");
    expect(await sidebar().findByText("Plums")).toBeTruthy();
  });
});

describe("a title", () => {
  beforeEach(() => {
    network.on("GET api/chats/c1", () => json(chat([user("m1", "one")])));
  });
  const title = () => screen.findByRole<HTMLInputElement>("textbox", { name: "Title" });

  it("is changed where it stands above the chat: typing takes its place, and it has the focus then", async () => {
    network.on("PATCH api/chats/c1", ({ body }) => json({ ...chat([]), title: body.title }));
    await open("/chat/c1");
    await userEvent.click(await screen.findByRole("button", { name: "A chat" }));
    expect(document.activeElement).toBe(await title());
    await userEvent.keyboard("Better{Enter}");
    const renamed = await screen.findByRole("button", { name: "Better" });
    await waitFor(() => expect(document.activeElement).toBe(renamed));
    expect(network.to("PATCH api/chats/c1")[0]?.body).toEqual({ title: "Better" });
  });

  it("that could not be kept stays in its field, with the reason in our words", async () => {
    await open("/chat/c1");
    await userEvent.click(await screen.findByRole("button", { name: "A chat" }));
    network.isDown = true;
    await userEvent.type(await title(), "Better{Enter}");
    expect((await screen.findByRole("alert")).textContent).toBe(
      "Can't reach the server. Try again in a moment.",
    );
    expect(await title()).toHaveProperty("value", "A chatBetter");
  });

  it("is changed from the menus too, whose buttons have the focus again", async () => {
    await open("/chat/c1");
    const menu = await screen.findByRole("button", { name: "Chat options" });
    await userEvent.click(menu);
    await userEvent.click(await screen.findByRole("menuitem", { name: "Rename" }));
    await waitFor(async () => expect(document.activeElement).toBe(await title()));
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(menu));
  });
});

describe("the keyboard", () => {
  it("leads past the chats to the composer by its first stop", async () => {
    stored = [row("c1", "Apples")];
    await open("/");
    await sidebar().findByText("Apples");
    (document.activeElement as HTMLElement).blur();
    await userEvent.tab();
    await userEvent.keyboard("{Enter}");
    expect(document.activeElement).toBe(field());
  });

  it("goes back to the composer from the empty search by Escape", async () => {
    await open("/");
    await userEvent.click(screen.getByRole("textbox", { name: "Search chats" }));
    await userEvent.keyboard("{Escape}");
    expect(document.activeElement).toBe(field());
  });
});

describe("settings", () => {
  it("change the colours at once, and are remembered as theme.js reads them", async () => {
    await open("/");
    await userEvent.click(screen.getByRole("button", { name: "Settings" }));
    await userEvent.click(await screen.findByRole("menuitemradio", { name: "Dark" }));
    expect(document.documentElement.classList.contains("dark")).toBe(true);
    expect(localStorage.getItem("mobox:theme")).toBe('"dark"');
  });

  it("leave demo mode to its one switch, in the head", async () => {
    await open("/");
    await userEvent.click(screen.getByRole("button", { name: "Settings" }));
    await screen.findByRole("menu");
    expect(screen.queryByRole("menuitemcheckbox", { name: /Demo/ })).toBeNull();
  });
});

describe("demo mode", () => {
  it("sends new turns to the demo agent, and to the one that is chosen instead", async () => {
    network.on("GET api/agents", () => json({ agents: [WRITER, DEMO] }));
    network.on("POST api/chat", () => new Stream().send(...textChunks("Hi"), ...ENDS).end());
    await agents.load();
    await open("/");
    await userEvent.click(await screen.findByRole("switch", { name: "Demo" }));
    expect(localStorage.getItem("app-mode")).toBe("demo");
    expect(screen.getAllByText("Demo").length).toBeGreaterThan(1);
    await userEvent.type(field(), "one{Enter}");
    await waitFor(() => expect(network.to("POST api/chat")).toHaveLength(1));
    await screen.findByRole("button", { name: "Send" });
    await userEvent.click(screen.getByRole("button", { name: "Agent: Demo" }));
    await userEvent.click(await screen.findByRole("menuitemradio", { name: /Writer/ }));
    expect(localStorage.getItem("app-mode")).toBe("live");
    await userEvent.type(field(), "two{Enter}");
    await waitFor(() => expect(network.to("POST api/chat")).toHaveLength(2));
    expect(network.to("POST api/chat").map(({ body }) => body.agent)).toEqual(["demo", "writer"]);
  });
});

it("lists its shortcuts on request, but not while the user types", async () => {
  await open("/");
  await userEvent.type(field(), "why?");
  expect(screen.queryByRole("dialog")).toBeNull();
  (document.activeElement as HTMLElement).blur();
  await userEvent.keyboard("?");
  expect(await screen.findByRole("dialog", { name: "Keyboard shortcuts" })).toBeTruthy();
});
