import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { approvalsIn, merge } from "@/chat/history";
import { endingOf } from "@/parts/wire";
import { agent, chat, user } from "@/testing/server";

describe("history", () => {
  it("keeps pages that were loaded before, and objects that are the same", () => {
    const mine = [user("m1", "one"), agent("r1", "first"), user("m2", "two")];
    const view = chat([agent("r1", "first"), user("m2", "two"), agent("r2", "new")]);
    const { messages, before } = merge(mine, "p1", { ...view, before: "p2" });
    expect(messages.map(({ id }) => id)).toEqual(["m1", "r1", "m2", "r2"]);
    expect(messages[1]).toBe(mine[1]);
    expect(before).toBe("p1");
  });

  it("takes the server's version where it differs", () => {
    const view = { ...chat([user("m1", "else")]), before: "p2" };
    const merged = merge([user("m1", "one"), agent("r1", "cut")], "p1", view);
    expect(merged).toEqual({ messages: [user("m1", "else")], before: "p2" });
  });

  it("keeps the message of the run that goes on at its end", () => {
    const live = { ...agent("r1", "half"), metadata: undefined } as UIMessage;
    const view = chat([user("m1", "one")], {
      activeRun: { id: "r1", status: "running", agent: "demo" },
    });
    expect(merge([user("m1", "one"), live], null, view).messages.at(-1)).toBe(live);
  });

  it("knows a message whose run is over by its reason", () => {
    expect(endingOf(agent("r1", "done"))?.reason).toBe("stop");
    expect(endingOf({ ...agent("r1", "half"), metadata: undefined })).toBeUndefined();
    expect(endingOf(undefined)).toBeUndefined();
  });
});

it("approvals of a message are the unanswered ones of its calls", () => {
  const states = [
    "approval-responded",
    "approval-requested",
    "input-available",
    "approval-requested",
  ];
  const parts = states.map((state, index) => ({
    type: "dynamic-tool",
    toolName: "delete",
    toolCallId: `${index}`,
    state,
    input: {},
    approval: { id: `a${index}` },
  }));
  expect(approvalsIn({ id: "r1", role: "assistant", parts: parts as never })).toEqual(["a1", "a3"]);
});
