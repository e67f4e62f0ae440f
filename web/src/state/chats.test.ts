import { beforeEach, expect, it } from "vitest";
import { ChatList, remove, rename } from "@/state/chats";
import { hear } from "@/state/tabs";
import { json, Network } from "@/testing/server";

let network: Network;
beforeEach(() => {
  network = new Network();
});

const row = (id: string, updatedAt: number) => ({ id, title: id, createdAt: 0, updatedAt });
const ids = (list: ChatList) => list.state.get().rows.map(({ id }) => id);

it("loads page after page, and asks for what is searched", async () => {
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
  expect(network.asked.map(({ query }) => query.get("query"))).toEqual(["words", "words"]);
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

it("says that it failed only where there is nothing to show", async () => {
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

it("renames and deletes at the server, and tells everybody", async () => {
  network.on("GET api/chats", () => json({ chats: [row("b", 2), row("a", 1)], before: null }));
  network.on("PATCH api/chats/a", ({ body }) => json({ ...row("a", 1), title: body.title.trim() }));
  network.on("DELETE api/chats/b", () => new Response(null, { status: 204 }));
  const list = new ChatList();
  const deaf = hear(list.heard);
  await list.refresh();
  await rename("a", "Better");
  await remove("b");
  deaf();
  expect(list.state.get().rows).toEqual([{ ...row("a", 1), title: "Better" }]);
});
