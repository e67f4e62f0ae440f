import { configure, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Chat } from "@/chat/Chat";
import { agents } from "@/state/agents";
import { asInBrowser } from "@/testing/browser";
import { running } from "@/testing/conversation";
import { agent, chat, json, Network, Stream, says, user } from "@/testing/server";

// The whole chat: on a busy machine it takes its time.
configure({ asyncUtilTimeout: 5_000 });
vi.setConfig({ testTimeout: 30_000 });

const DEMO = { id: "demo", name: "Demo", description: "Shows things." };
const WRITER = { id: "writer", name: "Writer", description: "Writes." };
let network: Network;

beforeEach(async () => {
  asInBrowser();
  network = new Network()
    .on("GET api/agents", () => json({ agents: [DEMO] }))
    .on("GET api/chats", () => json({ chats: [], before: null }))
    .on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
  await agents.load();
});

async function open() {
  render(
    <Chat
      id="c1"
      isNew={false}
      onBegun={() => {}}
      onNew={() => {}}
      onOpenChats={() => {}}
      onDelete={() => {}}
    />,
  );
  await waitFor(() => expect(network.to("GET api/chats/c1")).toHaveLength(1));
}

const choose = async (name: string) => {
  await userEvent.click(await screen.findByRole("button", { name: "About this chat" }));
  await userEvent.click(await screen.findByRole("menuitem", { name }));
};
const composer = () => screen.getByRole("textbox", { name: "Your message" });

/** A chat whose second answer is being written. */
function beingWritten() {
  const stored = [user("m1", "one"), agent("r1", "first"), user("m2", "two")];
  network
    .on("GET api/chats/c1", () => json(chat(stored, running)))
    .on("GET api/chats/c1/messages", () => json({ messages: stored, before: null }))
    .on("GET api/chat/c1/stream", (asked) => new Stream(asked).say(...says("half")).response);
}

function clipboard(write: (text: string) => Promise<void>) {
  const writeText = vi.fn(write);
  Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
  onTestFinished(() => void Reflect.deleteProperty(navigator, "clipboard"));
  return writeText;
}

describe("a chat that is copied", () => {
  it("has the answer in it that is being written, and says that it was done", async () => {
    beingWritten();
    const writeText = clipboard(async () => {});
    await open();
    await screen.findByText("half");
    await choose("Copy conversation");
    expect(await screen.findByText("Copied")).toBeTruthy();
    expect(writeText.mock.calls[0]?.[0]).toMatch(/one.*first.*two.*half/s);
  });

  it("says so where the browser does not let it", async () => {
    network.on("GET api/chats/c1/messages", () => json({ messages: [], before: null }));
    await open();
    await screen.findByText("first");
    clipboard(() => Promise.reject(new DOMException("no")));
    await choose("Copy conversation");
    expect(await screen.findByText("The browser did not let it be copied.")).toBeTruthy();
  });
});

describe("a title", () => {
  const rename = async (title: string) => {
    await userEvent.click(await screen.findByRole("button", { name: "A chat" }));
    const field = screen.getByRole("textbox", { name: "Title" });
    await userEvent.clear(field);
    await userEvent.type(field, `${title}{Enter}`);
    return field;
  };

  it("that could not be kept stays in its field, with the reason in our words", async () => {
    await open();
    await screen.findByText("first");
    network.isDown = true;
    const field = await rename("Better");
    expect((await screen.findByRole("alert")).textContent).toBe(
      "The server cannot be reached. Try again in a moment.",
    );
    expect(field).toHaveProperty("value", "Better");
  });

  it("is shown when it is kept, and has the focus", async () => {
    network.on("PATCH api/chats/c1", ({ body }) => json({ ...chat([]), title: body.title }));
    await open();
    await screen.findByText("first");
    await rename("Better");
    const title = await screen.findByRole("button", { name: "Better" });
    await waitFor(() => expect(document.activeElement).toBe(title));
  });
});

describe("demo mode", () => {
  it("is a switch in the head where there is somebody else", async () => {
    network.on("GET api/agents", () => json({ agents: [DEMO, WRITER] }));
    await agents.load();
    await open();
    const demo = await screen.findByRole("switch", { name: "Demo" });
    expect(demo.getAttribute("aria-checked")).toBe("false");
    await userEvent.click(demo);
    expect(demo.getAttribute("aria-checked")).toBe("true");
    expect(localStorage.getItem("app-mode")).toBe("demo");
    await userEvent.click(demo);
    expect(screen.getByRole("button", { name: "Agent: Writer" })).toBeTruthy();
  });

  it("is no switch, but explained, where nobody else is", async () => {
    await open();
    const head = within(screen.getByRole("banner"));
    expect(head.getByText(/the only one here/)).toBeTruthy();
    expect(head.queryByRole("switch")).toBeNull();
  });
});

it("lets the person take note of what was refused", async () => {
  network.on("POST api/chat", () =>
    json({ error: { code: "too_many_runs", message: "Too many runs go on." } }, 429),
  );
  await open();
  await screen.findByText("first");
  await userEvent.type(composer(), "two{Enter}");
  expect((await screen.findByRole("alert")).textContent).toContain("Too many runs go on.");
  await userEvent.click(screen.getByRole("button", { name: "Dismiss" }));
  expect(screen.queryByRole("alert")).toBeNull();
});
