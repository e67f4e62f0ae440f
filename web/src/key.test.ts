import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { door, fetchWithKey } from "@/key";

const reload = vi.fn();

beforeEach(() => {
  vi.stubGlobal("location", { ...location, reload });
  sessionStorage.setItem("mobox:drafts", '{"new":{"text":"what Ann did not send"}}');
  sessionStorage.setItem("theirs", "stays");
});
afterEach(() => {
  door.forget();
  vi.unstubAllGlobals();
  reload.mockClear();
});

test("who signs out leaves nothing of theirs in the tab", () => {
  door.open("mbx_anns");
  expect(sessionStorage.getItem("mobox:drafts")).toContain("Ann");
  door.forget();
  expect({ ...sessionStorage }).toEqual({ theirs: "stays" });
});

test("a key after another one begins with an empty page", () => {
  door.open("mbx_anns");
  door.shut();
  expect(reload).not.toHaveBeenCalled();
  door.open("mbx_bobs");
  expect({ ...sessionStorage }).toEqual({ theirs: "stays", "mobox:key": "mbx_bobs" });
  expect(reload).toHaveBeenCalledOnce();
  expect(door.key).toBe("mbx_bobs");
});

test("the same key again goes on where it was", () => {
  door.open("mbx_anns");
  door.shut();
  door.open("mbx_anns");
  expect(reload).not.toHaveBeenCalled();
  expect(sessionStorage.getItem("mobox:drafts")).toContain("Ann");
  expect(door.get().isShut).toBe(false);
});

test.each([
  ['Bearer realm="mobox"', false],
  ['Bearer realm="app"', true],
  ["Basic", true],
])("a refusal by %s asks for the right credentials", async (challenge, isOfApp) => {
  const headers = { "www-authenticate": challenge };
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 401, headers }));
  await fetchWithKey("api/chats");
  door.shut(); // as for a socket, which does not know who refused it
  expect(door.get()).toEqual({ isShut: true, hasKey: false, isOfApp });
});
