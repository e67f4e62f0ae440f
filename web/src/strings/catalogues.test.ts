import { expect, it } from "vitest";
import { strings } from "@/strings";
import { german } from "@/strings/de/index";
import { pseudo } from "@/strings/pseudo";

/** The paths of all texts, with what takes arguments and how many. */
function paths(value: unknown, path = ""): string[] {
  if (typeof value === "function") return [`${path}()`];
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, each]) => paths(each, `${path}.${key}`));
}

const at = (catalogue: unknown, path: string): unknown =>
  path
    .slice(1)
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], catalogue);

it("has the same texts in every language", () => {
  expect(paths(german).sort()).toEqual(paths(strings).sort());
});

/** What is the same in both languages, as names are. */
const SAME = [
  /^\.(parts\.speakers|content\.(nothing|axis)|chat\.(agent|demo)$|panel\.names|panes\.terminal$)/,
  /^\.inspector\.(views|formatNames|columns|states|noTime|filterHint|pause)/,
  /^\.inspecting\.timeline\.(kinds\.answer|states\.ok|tokens|status)$/,
  /^\.inspecting\.runs\.(state|agent|unknown|columns\.(chat|agent|status|tokens))$/,
  /^\.inspecting\.compare\.rows\.tokens$/,
  /^\.(activity\.(between|plan|code)|sharing\.address|viewing\.(framework|chat))$/,
  /^\.(sidebar\.fromAgent|shell\.(chats$|themes|token\.name|protocols))/,
];
const isSame = (path: string) => SAME.some((each) => each.test(path));

it("is translated", () => {
  const plain = paths(strings).filter((path) => !path.endsWith("()") && !isSame(path));
  const left = plain.filter((path) => at(german, path) === at(strings, path));
  expect(left).toEqual([]);
});

it("writes numbers and plurals of its language", () => {
  expect(german.parts.steps(1)).toBe("1 Schritt");
  expect(german.parts.steps(2)).toBe("2 Schritte");
  expect(german.content.showAll(1_460_000)).toBe("Alle 1.460.000 Zeichen anzeigen");
  expect(german.inspecting.timeline.dollars("0.0117")).toBe("0,0117 $");
  expect(german.sharing.days(1)).toBe("in 1 Tag");
  expect(german.sharing.days(7)).toBe("in 7 Tagen");
  expect(strings.content.showAll(1_460_000)).toBe("Show all 1,460,000 characters");
});

it("puts every text of the pseudo language in brackets", () => {
  const made = pseudo(strings);
  expect(made.shell.newChat).toBe("[New chat]");
  expect(made.parts.steps(2)).toBe("[2 steps]");
  expect(made.chat.starters[0]).toBe("[What can you do?]");
});
