import { expect, it } from "vitest";
import { fileName, wholeOf } from "@/chat/exporting";
import { agent, json, Network, user } from "@/testing/server";

it("makes the name of a file of a title", () => {
  expect(fileName("Über / die: Zürich?", "md")).toBe("Über-die-Zürich.md");
  expect(fileName("../..", "json")).toBe("chat.json");
});

it("takes along all pages, and the answer that is being written", async () => {
  const [one, first, two, second] = [
    user("m1", "one"),
    agent("r1", "first"),
    user("m2", "two"),
    agent("r2", "half of the sec"),
  ];
  new Network().on("GET api/chats/c1/messages", ({ query }) =>
    query.get("before")
      ? json({ messages: [one, first], before: null })
      : json({ messages: [two], before: "p1" }),
  );
  const { messages } = await wholeOf("c1", "A chat", [first, two, second]);
  expect(messages.map(({ id }) => id)).toEqual(["m1", "r1", "m2", "r2"]);
});
