import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { failureOf } from "@/failure";
import { credentials, fetchWithKey, LATEST_ANSWER } from "@/key";

const reload = vi.fn();

beforeEach(() => {
  vi.stubGlobal("location", { ...location, reload });
  sessionStorage.setItem("mobox:drafts", '{"new":{"text":"what Ann did not send"}}');
  sessionStorage.setItem("theirs", "stays");
});
afterEach(() => {
  credentials.forget();
  vi.unstubAllGlobals();
  reload.mockClear();
});

test("who signs out leaves nothing of theirs in the tab", () => {
  credentials.unlock("mbx_anns");
  expect(sessionStorage.getItem("mobox:drafts")).toContain("Ann");
  credentials.forget();
  expect({ ...sessionStorage }).toEqual({ theirs: "stays" });
});

test("a key after another one begins with an empty page", () => {
  credentials.unlock("mbx_anns");
  credentials.lock();
  expect(reload).not.toHaveBeenCalled();
  credentials.unlock("mbx_bobs");
  expect({ ...sessionStorage }).toEqual({ theirs: "stays", "mobox:key": "mbx_bobs" });
  expect(reload).toHaveBeenCalledOnce();
  expect(credentials.key).toBe("mbx_bobs");
});

test("the same key again goes on where it was", () => {
  credentials.unlock("mbx_anns");
  credentials.lock();
  credentials.unlock("mbx_anns");
  expect(reload).not.toHaveBeenCalled();
  expect(sessionStorage.getItem("mobox:drafts")).toContain("Ann");
  expect(credentials.get().isLocked).toBe(false);
});

test.each([
  ['Bearer realm="mobox"', false],
  ['Bearer realm="app"', true],
  ["Basic", true],
])("a refusal by %s asks for the right credentials", async (challenge, isOfApp) => {
  const headers = { "www-authenticate": challenge };
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 401, headers }));
  await fetchWithKey("api/chats");
  credentials.lock(); // as for a socket, which does not know who refused it
  expect(credentials.get()).toEqual({ isLocked: true, hasKey: false, isOfApp });
});

test("a request without an answer is lost after a while, and its signal still ends it", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const signals: AbortSignal[] = [];
  vi.stubGlobal("fetch", (_: string, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  });
  const late = fetchWithKey("api/chats").catch(failureOf);
  await vi.advanceTimersByTimeAsync(LATEST_ANSWER);
  expect(await late).toEqual({ kind: "lost" });
  const leaving = new AbortController();
  const left = fetchWithKey("api/chats", { signal: leaving.signal }).catch((error) => error.name);
  leaving.abort();
  expect(await left).toBe("AbortError");
  expect(vi.getTimerCount()).toBe(0);
});

test("an answer may take its time after its start, and so may a long request", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const signals: (AbortSignal | undefined)[] = [];
  vi.stubGlobal("fetch", async (_: string, init: { signal?: AbortSignal }) => {
    signals.push(init.signal);
    return new Response("…");
  });
  await fetchWithKey("api/chats");
  await fetchWithKey("api/chat", { method: "POST", body: "x".repeat(1_000_000) });
  await vi.advanceTimersByTimeAsync(2 * LATEST_ANSWER);
  expect(signals.map((signal) => signal?.aborted ?? false)).toEqual([false, false]);
});
