import { expect, it } from "vitest";
import { isOnlyDemo, mode, nextAgent } from "@/state/agents";

const known = ["coder", "demo", "writer"].map((id) => ({ id, name: id, description: "" }));
const next = (more: object) => nextAgent({ agents: known, mode: "live", ...more })?.id;

it("takes the selected agent, else the last one to answer, else the previous selection, else the default", () => {
  expect(next({ picked: "writer", last: "coder", preferred: "demo" })).toBe("writer");
  expect(next({ last: "coder", preferred: "demo" })).toBe("coder");
  expect(next({ preferred: "writer", preset: "demo" })).toBe("writer");
  expect(next({ preferred: "gone", preset: "demo" })).toBe("demo");
  expect(next({})).toBe("coder");
});

it("passes over agents that are gone", () => {
  expect(next({ picked: "gone", last: "away", preferred: "writer" })).toBe("writer");
  expect(nextAgent({ agents: [], mode: "live" })).toBeUndefined();
});

it("takes the demo agent in demo mode, whichever was selected", () => {
  expect(next({ mode: "demo", picked: "writer" })).toBe("demo");
});

it("detects that the demo agent is the only one", () => {
  expect(isOnlyDemo(known)).toBe(false);
  expect(isOnlyDemo(known.slice(1, 2))).toBe(true);
});

it("reads the mode as others write it", () => {
  localStorage.setItem("app-mode", "demo");
  expect(mode.get()).toBe("demo");
  mode.set("live");
  expect(localStorage.getItem("app-mode")).toBe("live");
  localStorage.setItem("app-mode", '"demo"');
  expect(mode.get()).toBe("demo");
});
