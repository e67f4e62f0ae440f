import { expect, test } from "vitest";
import { kindOf, shownName } from "@/previews/kinds";

test.each([
  ["report.md", "text/markdown", "markdown"],
  ["report.md", "", "markdown"],
  ["a.html", "text/html", "html"],
  ["a.csv", "text/plain", "table"],
  ["a.png", "image/png", "image"],
  ["a.svg", "image/svg+xml", "image"],
  ["a.tiff", "image/tiff", "none"],
  ["a.pdf", "application/pdf", "pdf"],
  ["a.py", "text/x-python", "code"],
  ["a.json", "application/json", "code"],
  ["notes", "text/plain; charset=utf-8", "text"],
  ["a.zip", "application/zip", "none"],
  ["constructor", "", "none"],
  ["a.constructor", "", "none"],
])("%s of type %j is shown as %s", (name, mediaType, kind) => {
  expect(kindOf({ name, mediaType })).toBe(kind);
});

test("a name cannot turn itself around", () => {
  expect(shownName("photo\u202egnp.exe\n")).toBe("photo\ufffdgnp.exe\ufffd");
});
