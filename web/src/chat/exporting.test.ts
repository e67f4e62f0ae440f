import { expect, it } from "vitest";
import { fileName, wholeMarkdown, wholeOf } from "@/chat/exporting";
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
  const feedback = [{ runId: "r1", value: "down", comment: "Too\nshort" }];
  new Network()
    .on("GET api/chats/c1/feedback", () => json({ feedback }))
    .on("GET api/chats/c1/messages", ({ query }) =>
      query.get("before")
        ? json({ messages: [one, first], before: null })
        : json({ messages: [two], before: "p1" }),
    );
  const whole = await wholeOf("c1", "A chat", [first, two, second]);
  const { messages } = whole;
  expect(whole.feedback).toEqual(feedback);
  expect(wholeMarkdown(whole)).toContain("first\n\n*👎 Bad answer:* Too short\n\n## You");
  expect(messages.map(({ id }) => id)).toEqual(["m1", "r1", "m2", "r2"]);
});
