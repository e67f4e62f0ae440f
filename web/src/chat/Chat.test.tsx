import { act, cleanup, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Chat } from "@/chat/Chat";
import { agents } from "@/state/agents";
import { notifyAll } from "@/state/tabs";
import { asInBrowser } from "@/testing/browser";
import { running, waiting } from "@/testing/conversation";
import {
  agent,
  type Chunk,
  chat,
  ENDS,
  json,
  Network,
  refusal,
  Stream,
  textChunks,
  user,
} from "@/testing/server";

const DEMO = { id: "demo", name: "Demo", description: "Shows things." };
const WRITER = { id: "writer", name: "Writer", description: "Writes." };
let network: Network;

beforeEach(async () => {
  asInBrowser();
  network = new Network()
    .on("GET api/agents", () => json({ agents: [DEMO] }))
    .on("GET api/chats", () => json({ chats: [], before: null }))
    .on("GET api/chats/c1/feedback", () => json({ feedback: [] }))
    .on("GET api/chats/c1", () => json(chat([user("m1", "one"), agent("r1", "first")])));
  await agents.load();
});

async function open() {
  render(
    <Chat
      id="c1"
      isNew={false}
      onStarted={() => {}}
      onNew={() => {}}
      onOpenChats={() => {}}
      onRename={() => {}}
      onPermissions={() => {}}
      onShare={() => {}}
      onDelete={() => {}}
    />,
  );
  await waitFor(() => expect(network.to("GET api/chats/c1")).toHaveLength(1));
}

const choose = async (name: string) => {
  await userEvent.click(await screen.findByRole("button", { name: "Chat options" }));
  await userEvent.click(await screen.findByRole("menuitem", { name }));
};
const composer = () => screen.getByRole("textbox", { name: "Your message" });

/** A chat whose second answer is being written. */
function beingWritten(active: object = running) {
  const stored = [user("m1", "one"), agent("r1", "first"), user("m2", "two")];
  network
    .on("GET api/chats/c1", () => json(chat(stored, active)))
    .on("GET api/chats/c1/messages", () => json({ messages: stored, before: null }))
    .on(
      "GET api/chat/c1/stream",
      (request) => new Stream(request).send(...textChunks("half")).response,
    );
}

function clipboard(write: (text: string) => Promise<void>) {
  const writeText = vi.fn(write);
  Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
  onTestFinished(() => void Reflect.deleteProperty(navigator, "clipboard"));
  return writeText;
}

describe("a chat that is copied", () => {
  it("includes the streaming answer, and confirms", async () => {
    beingWritten();
    const writeText = clipboard(async () => {});
    await open();
    await screen.findByText("half");
    await choose("Copy conversation");
    expect(await screen.findByText("Copied")).toBeTruthy();
    expect(writeText.mock.calls[0]?.[0]).toMatch(/one.*first.*two.*half/s);
  });

  it("shows if the browser blocked it", async () => {
    network.on("GET api/chats/c1/messages", () => json({ messages: [], before: null }));
    await open();
    await screen.findByText("first");
    clipboard(() => Promise.reject(new DOMException("no")));
    await choose("Copy conversation");
    expect(await screen.findByText("Your browser blocked copying.")).toBeTruthy();
  });
});

describe("demo mode", () => {
  it("is a switch in the header where there is another agent", async () => {
    network.on("GET api/agents", () => json({ agents: [DEMO, WRITER] }));
    await agents.load();
    await open();
    const demo = await screen.findByRole("switch", { name: "Demo" });
    await waitFor(() => expect(demo.getAttribute("aria-checked"), "it has answered").toBe("true"));
    await userEvent.click(demo);
    expect(demo.getAttribute("aria-checked")).toBe("false");
    expect(screen.getByRole("button", { name: "Agent: Writer" })).toBeTruthy();
    await userEvent.click(demo);
    expect(demo.getAttribute("aria-checked")).toBe("true");
    expect(localStorage.getItem("app-mode")).toBe("demo");
  });

  it("has no second control in the list of agents", async () => {
    network.on("GET api/agents", () => json({ agents: [DEMO, WRITER] }));
    await agents.load();
    await open();
    await userEvent.click(await screen.findByRole("button", { name: "Agent: Demo" }));
    const options = await screen.findAllByRole("menuitemradio");
    expect(options.map(({ textContent }) => textContent)).toEqual([
      expect.stringContaining("Writer"),
    ]);
  });

  it("is no switch where the demo agent is the only one", async () => {
    await open();
    expect(within(screen.getByRole("banner")).queryByRole("switch")).toBeNull();
  });
});

it("lets the person take note of what was refused", async () => {
  network.on("POST api/chat", () => refusal(429, "too_many_runs", "Too many runs go on."));
  await open();
  await screen.findByText("first");
  await userEvent.type(composer(), "two{Enter}");
  expect((await screen.findByRole("alert")).textContent).toContain("Too many runs go on.");
  await userEvent.click(screen.getByRole("button", { name: "Dismiss" }));
  expect(screen.queryByRole("alert")).toBeNull();
});

it("retries with the original agent, whichever was selected since", async () => {
  network.on("GET api/agents", () => json({ agents: [WRITER, DEMO] }));
  await agents.load();
  network.on("GET api/chats/c1", () => json(chat([], { agent: "writer" })));
  network.on("POST api/chat", () => refusal(429, "too_many_runs", "Too many runs go on."));
  await open();
  await userEvent.type(composer(), "one{Enter}");
  const again = await screen.findByRole("button", { name: "Retry" });
  await userEvent.click(screen.getByRole("switch", { name: "Demo" }));
  await userEvent.click(again);
  await waitFor(() => expect(network.to("POST api/chat")).toHaveLength(2));
  expect(network.to("POST api/chat").map(({ body }) => body.agent)).toEqual(["writer", "writer"]);
});

describe("Escape", () => {
  const stops = () => network.to("POST api/chat/c1/stop").length;

  it.each([
    ["works", running],
    ["waits", waiting],
  ])("stops an agent that %s", async (_, active) => {
    beingWritten(active);
    await open();
    await screen.findByRole("button", { name: "Stop" });
    await userEvent.type(composer(), "{Escape}");
    await waitFor(() => expect(stops()).toBe(1));
  });

  it("in another field is not for the agent", async () => {
    beingWritten();
    await open();
    await screen.findByRole("button", { name: "Stop" });
    const otherChat = document.body.appendChild(document.createElement("input"));
    onTestFinished(() => otherChat.remove());
    await userEvent.type(otherChat, "{Escape}");
    expect(stops()).toBe(0);
  });
});

describe("the focus", () => {
  const approvalChunks = (id: string): Chunk[] => [
    { type: "start", messageId: "run_1" },
    { type: "tool-input-available", toolCallId: id, toolName: id, input: {}, dynamic: true },
    { type: "tool-approval-request", approvalId: `a-${id}`, toolCallId: id },
    { type: "finish", finishReason: "tool-calls" },
  ];

  it("moves to the next request, and after that to the composer", async () => {
    let view = chat([user("m1", "one")], waiting);
    const then = new Stream();
    network
      .on("GET api/chats/c1", () => json(view))
      .on("GET api/chat/c1/stream", () => new Stream().send(...approvalChunks("first")).end())
      .on("POST api/chat", () => then.response);
    await open();
    await userEvent.click(await screen.findByRole("button", { name: "Approve" }));
    await waitFor(() => expect(document.activeElement).toBe(composer()));
    then.send(...approvalChunks("second")).end();
    const again = await screen.findByRole("button", { name: "Approve" });
    // Not to the button: a repeated Enter would decide about an unread request.
    await waitFor(() => expect(document.activeElement).toBe(again.closest("fieldset")));
    network.on("POST api/chat", () => new Stream().send(...textChunks("done"), ...ENDS).end());
    view = chat([user("m1", "one"), agent("run_1", "done")]);
    await userEvent.click(again);
    await waitFor(() => expect(document.activeElement).toBe(composer()));
  });

  it("is in the composer after an edit, and after another try", async () => {
    network.on("POST api/chat", () => new Stream().send(...textChunks("again"), ...ENDS).end());
    await open();
    await userEvent.click(await screen.findByRole("button", { name: "Edit" }));
    await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
    expect(document.activeElement).toBe(composer());
    await userEvent.click(await screen.findByRole("button", { name: "Regenerate" }));
    expect(document.activeElement).toBe(composer());
  });
});

describe("a message that is put in other words", () => {
  const editor = () => screen.findByRole("textbox", { name: "Edit your message" });
  const edit = async (place: number) => {
    const buttons = await screen.findAllByRole("button", { name: "Edit" });
    await userEvent.click(buttons[place] as HTMLElement);
  };

  it("keeps what was typed while an agent works, and is sent after that", async () => {
    const stored = [user("m1", "one"), agent("r1", "first")];
    const other = new Stream();
    await open();
    await edit(0);
    await userEvent.type(await editor(), " more");
    network.on("GET api/chats/c1", () => json(chat([...stored, user("m2", "two")], running)));
    network.on("GET api/chat/c1/stream", () => other.response);
    act(() => notifyAll({ about: "turn", chat: "c1" }));
    await screen.findByRole("button", { name: "Stop" });
    expect(await editor()).toHaveProperty("value", "one more");
    expect(screen.queryByRole("button", { name: "Send" })).toBeNull();
    await userEvent.type(await editor(), "{Enter}");
    await act(async () => void other.send(...textChunks("second"), ...ENDS).end());
    await waitFor(() => expect(screen.getAllByRole("button", { name: "Send" })).toHaveLength(2));
    network.on("POST api/chat", () => new Stream().send(...textChunks("third"), ...ENDS).end());
    await userEvent.type(await editor(), "{Enter}");
    expect(await screen.findByText("third")).toBeTruthy();
    expect(network.to("POST api/chat")).toHaveLength(1);
  });

  it("is no longer being put in other words in a chat that is opened again", async () => {
    await open();
    await edit(0);
    await editor();
    cleanup();
    network.requests.length = 0;
    await open();
    await screen.findByText("first");
    expect(screen.queryByRole("textbox", { name: "Edit your message" })).toBeNull();
  });

  it("says that later messages stay with the old version, where there are any", async () => {
    const stored = [user("m1", "one"), agent("r1", "first"), user("m2", "two")];
    network.on("GET api/chats/c1", () => json(chat([...stored, agent("r2", "second")])));
    await open();
    await edit(1);
    await editor();
    expect(
      screen.queryByText("Sends a new version. What follows stays with the old one."),
    ).toBeNull();
    await userEvent.keyboard("{Escape}");
    await edit(0);
    expect(
      screen.getByText("Sends a new version. What follows stays with the old one."),
    ).toBeTruthy();
  });
});

it("shows what the person sent along", async () => {
  const url = "data:text/plain;base64,aGVsbG8=";
  const file = { type: "file" as const, mediaType: "text/plain", filename: "notes.txt", url };
  const withFile = { ...user("m1", "Read this"), parts: [file, ...user("m1", "Read this").parts] };
  network.on("GET api/chats/c1", () => json(chat([withFile, agent("r1", "first")])));
  await open();
  const mine = within(await screen.findByRole("article", { name: "You" }));
  expect(mine.getByText("notes.txt")).toBeTruthy();
  expect(mine.getByText("Read this")).toBeTruthy();
});

it("offers one other try where the agent failed", async () => {
  const failed = { ...agent("r1", "first"), metadata: { reason: "error", error: "It broke." } };
  network.on("GET api/chats/c1", () => json(chat([user("m1", "one"), failed])));
  await open();
  expect(await screen.findByRole("button", { name: "Retry" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Regenerate" })).toBeNull();
});

it("is not headed as a new one where there is no such chat", async () => {
  network.on("GET api/chats/c1", () => json({ error: { code: "not_found", message: "" } }, 404));
  await open();
  expect(await screen.findByRole("heading", { name: "Not found", level: 1 })).toBeTruthy();
});

it("shows that the agents could not be loaded, and retries", async () => {
  network.on("GET api/agents", () => json({ agents: [] }));
  await agents.load();
  network.isDown = true;
  await agents.load();
  network.isDown = false;
  network.on("GET api/agents", () => json({ agents: [WRITER] }));
  await open();
  expect(await screen.findByText("Couldn't load agents.")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await screen.findAllByText("Writer")).toBeTruthy();
});
