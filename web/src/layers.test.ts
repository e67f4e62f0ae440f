import { expect, it } from "vitest";

/** What may import what: a folder imports itself, and whatever stands in a row below its own. */
const LAYERS = [
  ["main"],
  ["start"],
  ["App", "pageModules"],
  ["shared", "view"],
  ["shell", "chat", "runPages"],
  ["transports", "panel"],
  ["inspector", "panes", "previews"],
  ["parts"],
  ["content"],
  ["runs"],
  ["ui"],
  ["state"],
  ["failure"],
  ["api", "ids", "strings", "noEval", "frame"],
  ["key", "brand"],
  ["link"],
  ["json", "store", "language"],
];

const sources = import.meta.glob<string>("./**/*.{ts,tsx}", {
  query: "?raw",
  import: "default",
  eager: true,
});
const layerOf = (name: string) => LAYERS.findIndex((layer) => layer.includes(name));
const isOurs = (path: string) => !/\.test\.|^\.\/testing\//.test(path);

it.each(Object.keys(sources).filter(isOurs))("%s imports only what is below it", (path) => {
  const [, home = ""] = /^\.\/(\w+)/.exec(path) ?? [];
  expect(layerOf(home), "it has no place among the layers").toBeGreaterThanOrEqual(0);
  const imports = sources[path]?.matchAll(/(?:from |import |import\()"@\/(\w+)/g) ?? [];
  const others = Array.from(imports, ([, name = ""]) => name).filter((name) => name !== home);
  expect(others.filter((name) => name !== "index" && layerOf(name) <= layerOf(home))).toEqual([]);
});
