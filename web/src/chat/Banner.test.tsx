import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Banner, Unloaded } from "@/chat/Banner";
import { atFirst, type ConversationState } from "@/chat/conversationState";
import { NOTICE_AFTER } from "@/runs/outage";
import { Retries } from "@/runs/retries";

let retries: Retries;
let left: AbortController;
beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0); // no jitter
  retries = new Retries();
  left = new AbortController();
});
afterEach(() => {
  left.abort();
  retries.end();
  vi.useRealTimers();
});

const show = (more: Partial<ConversationState> = {}) =>
  render(<Banner state={{ ...atFirst("c1", false), phase: "ready", ...more }} />);
const status = () => screen.getByRole("status").textContent;
const pass = (milliseconds: number) => act(() => vi.advanceTimersByTimeAsync(milliseconds));

/** A request that fails at once, whenever it is repeated. */
async function fail() {
  while (!left.signal.aborted) await retries.wait(left.signal);
}

describe("the notice", () => {
  it("appears when requests have failed for a few seconds, and goes with the first answer", async () => {
    show();
    expect(status()).toBe("");
    void fail();
    await pass(NOTICE_AFTER - 100);
    expect(status()).toBe("Reconnecting…");
    expect(screen.queryByRole("button")).toBeNull();
    await pass(100);
    expect(status()).toBe("Request Failed. The server can't be reached.");
    left.abort();
    await pass(0);
    expect(status()).toBe("");
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("counts the seconds to the next attempt outside of the live region, and retries on click", async () => {
    const wait = vi.spyOn(retries, "wait");
    show();
    void fail();
    await pass(NOTICE_AFTER); // tries after 0.5, 1.5 and 3.5 s; the next after 7.5 s
    expect(wait).toHaveBeenCalledTimes(4);
    expect(screen.getByText("Trying again in 4 s")).toBeTruthy();
    await pass(1_000);
    expect(screen.getByText("Trying again in 3 s")).toBeTruthy();
    expect(status()).not.toMatch("Trying");
    act(() => screen.getByRole("button", { name: "Retry" }).click());
    await pass(0);
    expect(wait).toHaveBeenCalledTimes(5);
    expect(screen.getByText("Trying again in 8 s")).toBeTruthy();
  });

  it.each([
    [{ unsent: "message" }, "Your message is not sent yet."],
    [{ unsent: "answer" }, "Your answer is not sent yet."],
    [{ stopping: true }, "The agent will be stopped when the server answers."],
  ] as const)("says what becomes of the user's action: %j", async (state, line) => {
    show(state);
    void fail();
    await pass(NOTICE_AFTER);
    expect(status()).toBe(`Request Failed. The server can't be reached. ${line}`);
  });

  it("is in the place of a chat that could not be loaded", async () => {
    show({ phase: "loading" });
    render(<Unloaded>Loading</Unloaded>);
    void fail();
    await pass(NOTICE_AFTER - 100);
    expect(screen.getByText("Loading")).toBeTruthy();
    await pass(100);
    expect(screen.queryByText("Loading")).toBeNull();
    expect(status()).toBe("");
    expect(screen.getByRole("alert").textContent).toMatch("Request Failed");
    expect(screen.getAllByRole("button", { name: "Retry" })).toHaveLength(1);
  });

  it("does not come back for a request that was given up during a pause", async () => {
    show();
    void retries.wait(left.signal);
    retries.end();
    await pass(10 * NOTICE_AFTER);
    expect(status()).toBe("");
  });

  it("does not say that a request has failed that has no answer yet", async () => {
    show();
    retries.begin();
    await pass(NOTICE_AFTER - 100);
    expect(status()).toBe("");
    await pass(100);
    expect(status()).toBe("Waiting for the server…");
    act(() => retries.end());
    expect(status()).toBe("");
  });
});
