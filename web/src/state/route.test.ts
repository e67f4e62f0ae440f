import { afterEach, expect, it } from "vitest";
import { hrefOf, routeOf } from "@/state/route";

afterEach(() => document.head.replaceChildren());

it.each([
  ["/", "/", { page: "new" }],
  ["/chat/abc", "/", { page: "chat", id: "abc" }],
  ["/chat/a%2Fb%20c", "/", { page: "chat", id: "a/b c" }],
  ["/below/", "/below/", { page: "new" }],
  ["/below/chat/abc", "/below/", { page: "chat", id: "abc" }],
  ["/elsewhere", "/", { page: "unknown" }],
  ["/chat", "/", { page: "new" }],
  ["/chat/", "/", { page: "new" }],
  ["/chat/%E0%A4%A", "/", { page: "unknown" }],
  ["/runs", "/", { page: "runs" }],
  ["/below/runs/", "/below/", { page: "runs" }],
  ["/runs/run_1", "/", { page: "run", id: "run_1" }],
  ["/runs/a/b", "/", { page: "compare", first: "a", second: "b" }],
  ["/runs/a/b/c", "/", { page: "unknown" }],
  ["/runs/%E0%A4%A", "/", { page: "unknown" }],
])("reads %s below %s", (path, base, route) => {
  expect(routeOf(path, base)).toEqual(route);
});

it("writes addresses that it reads as the same", () => {
  const base = document.createElement("base");
  base.href = "/below/";
  document.head.append(base);
  for (const id of ["abc", "a/b", "ü?#%"]) {
    const href = hrefOf({ page: "chat", id });
    expect(routeOf(href, "/below/")).toEqual({ page: "chat", id });
  }
  expect(hrefOf({ page: "new" })).toBe("/below/");
  expect(hrefOf({ page: "runs" })).toBe("/below/runs");
  for (const route of [
    { page: "run", id: "a/b" },
    { page: "compare", first: "a/b", second: "ü" },
  ] as const)
    expect(routeOf(hrefOf(route), "/below/")).toEqual(route);
});
