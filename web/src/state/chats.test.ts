import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ChatList, remove, rename } from "@/state/chats";
import { subscribe } from "@/state/tabs";
import { json, Network } from "@/testing/server";
import { until } from "@/testing/waiting";

let network: Network;
beforeEach(() => {
  network = new Network();
});

const row = (id: string, updatedAt: number, status: "running" | "waiting" | null = null) => ({
  id,
  title: id,
  createdAt: 0,
  updatedAt,
  status,
});
const ids = (list: ChatList) => list.state.get().rows.map(({ id }) => id);

it("loads page after page, and sends the search text", async () => {
  network.on("GET api/chats", ({ query }) =>
    query.get("before") === "p1"
      ? json({ chats: [row("b", 2), row("a", 1)], before: null })
      : json({ chats: [row("d", 4), row("c", 3)], before: "p1" }),
  );
  const list = new ChatList("words");
  await list.refresh();
  await list.more();
  await list.more();
  expect(ids(list)).toEqual(["d", "c", "b", "a"]);
  expect(network.requests.map(({ query }) => query.get("query"))).toEqual(["words", "words"]);
});

it("keeps the pages after the first when that is loaded again", async () => {
  let first = { chats: [row("d", 4), row("c", 3)], before: "p1" };
  network.on("GET api/chats", ({ query }) =>
    query.get("before") ? json({ chats: [row("b", 2), row("a", 1)], before: "p2" }) : json(first),
  );
  const list = new ChatList();
  await list.refresh();
  await list.more();
  first = { chats: [row("a", 5), row("d", 4)], before: "p3" };
  await list.refresh();
  expect(ids(list)).toEqual(["a", "d", "c", "b"]);
  expect(list.state.get().before).toBe("p2");
});

it("forgets chats that the whole list does not have any more", async () => {
  let chats = [row("b", 2), row("a", 1)];
  network.on("GET api/chats", () => json({ chats, before: null }));
  const list = new ChatList();
  await list.refresh();
  chats = [row("a", 1)];
  await list.refresh();
  expect(ids(list)).toEqual(["a"]);
});

it("reports failure only where there is nothing to show", async () => {
  network.on("GET api/chats", () => json({ chats: [row("a", 1)], before: null }));
  const list = new ChatList();
  network.isDown = true;
  await list.refresh();
  expect(list.state.get().phase).toBe("failed");
  network.isDown = false;
  await list.refresh();
  network.isDown = true;
  await list.refresh();
  expect(list.state.get().phase).toBe("ready");
  expect(ids(list)).toEqual(["a"]);
});

it("renames and deletes at the server, and notifies all tabs", async () => {
  network.on("GET api/chats", () => json({ chats: [row("b", 2), row("a", 1)], before: null }));
  network.on("PATCH api/chats/a", ({ body }) => json({ ...row("a", 1), title: body.title.trim() }));
  network.on("DELETE api/chats/b", () => new Response(null, { status: 204 }));
  const list = new ChatList();
  const unsubscribe = subscribe(list.onChange);
  await list.refresh();
  await rename("a", "Better");
  await remove("b");
  unsubscribe();
  expect(list.state.get().rows).toEqual([{ ...row("a", 1), title: "Better" }]);
});

it("does not take a title from an answer that was on its way when it changed", async () => {
  let title = "Old";
  let arrive = () => {};
  const late = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  network.on("GET api/chats", async () => {
    const response = json({ chats: [{ ...row("a", 1), title }], before: null });
    if (title === "Old") await late;
    return response;
  });
  const list = new ChatList();
  const first = list.refresh();
  title = "Better";
  list.onChange({ about: "title", chat: "a", title });
  arrive();
  await first;
  await until(() => expect(list.titleOf("a")).toBe("Better"));
});

describe("how the chats stand", () => {
  const statuses = (list: ChatList) => list.state.get().rows.map(({ status }) => status);

  it("is polled as long as an agent is working, and no longer", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let chats = [row("b", 2, "running"), row("a", 1, "waiting")];
    network.on("GET api/chats", () => json({ chats, before: null }));
    const list = new ChatList();
    onTestFinished(list.watch());
    await list.refresh();
    chats = [row("b", 2), row("a", 1, "waiting")];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(statuses(list)).toEqual([null, "waiting"]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(network.requests).toHaveLength(2);
  });

  it("stays as it was while the server cannot be reached, and when a chat is renamed", async () => {
    network.on("GET api/chats", () => json({ chats: [row("a", 1, "running")], before: null }));
    const list = new ChatList();
    await list.refresh();
    list.onChange({ about: "title", chat: "a", title: "Better" });
    network.isDown = true;
    await list.refresh();
    expect(statuses(list)).toEqual(["running"]);
  });

  it("is updated at once by the open chat", async () => {
    network.on("GET api/chats", () => json({ chats: [row("a", 1)], before: null }));
    const list = new ChatList();
    await list.refresh();
    list.mark("a", "waiting");
    list.mark("not listed", "running");
    expect(statuses(list)).toEqual(["waiting"]);
  });
});

it("knows the title of the chat that is open, though it is on no page yet", () => {
  const list = new ChatList();
  list.open(row("old", 1));
  list.onChange({ about: "title", chat: "old", title: "Better" });
  expect(list.titleOf("old")).toBe("Better");
  expect(list.titleOf("other")).toBeUndefined();
});
