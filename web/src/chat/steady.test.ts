import { describe, expect, it } from "vitest";
import { steady } from "@/chat/steady";
import { agent } from "@/testing/server";

describe("a message that is replayed", () => {
  it("is shown as it was until the replay has caught up", () => {
    const shown = agent("r1", "Hello there");
    expect(steady(shown, agent("r1", "Hel"))).toBe(shown);
    const caughtUp = agent("r1", "Hello there, you");
    expect(steady(shown, caughtUp)).toBe(caughtUp);
  });

  it("does not hold back another message", () => {
    const other = agent("r2", "Hi");
    expect(steady(agent("r1", "Hello there"), other)).toBe(other);
  });
});
