import { expect, test, vi } from "vitest";
import { loadModules, PAGE_API } from "@/pageModules";

test("each module gets the page's API, and a broken one stops no other", async () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  const setUp = vi.fn();
  const modules: Record<string, object> = {
    "/a.js": { default: setUp },
    "/b.js": {
      default: () => {
        throw new Error("no");
      },
    },
    "/c.js": {},
  };
  const from = async (url: string) => {
    const found = modules[new URL(url).pathname];
    if (!found) throw new TypeError("not there");
    return found;
  };
  await loadModules(["./b.js", "./c.js", "./d.js", "./a.js"], from);
  expect(setUp.mock.calls).toEqual([[PAGE_API]]);
  expect(told).toHaveBeenCalledTimes(3);
  expect(PAGE_API.version).toBe(1);
});
