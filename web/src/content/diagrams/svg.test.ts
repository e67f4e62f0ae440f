import { expect, test } from "vitest";
import { addressOf, drawingOf } from "@/content/diagrams/svg";

const draw = (inner: string) => drawingOf(`<svg viewBox="0 0 100.2 50">${inner}</svg>`);

test("a drawing is a whole document with its size", () => {
  const drawing = draw("<g><text>A &amp; B<br></text></g>");
  expect(drawing).toMatchObject({ width: 101, height: 50 });
  const parsed = new DOMParser().parseFromString(drawing?.svg ?? "", "image/svg+xml");
  expect(parsed.querySelector("parsererror")).toBeNull();
  expect(parsed.documentElement.getAttribute("width")).toBe("101");
  expect(addressOf(drawing?.svg ?? "")).toMatch(/^data:image\/svg\+xml;charset=utf-8,%3Csvg/);
});

test.each([
  "<script>alert(1)</script>",
  '<image href="https://evil.example/x.png"/>',
  '<a href="javascript:alert(1)"><text>x</text></a>',
  '<a xlink:href="javascript:alert(1)"><text>x</text></a>',
  '<g onclick="alert(1)"/>',
  "<foreignObject><iframe src=x></iframe><img src=x onerror=alert(1)></foreignObject>",
  "<style>@import url(https://evil.example/x.css); rect{fill:url(https://evil.example)}</style>",
  '<rect style="fill:url(https://evil.example/x)"/>',
  '<use href="https://evil.example/x.svg#a"/>',
  '<a><animate attributeName="href" values="javascript:alert(1)"/></a>',
])("%s is not in it", (inner) => {
  const { svg } = draw(inner) ?? { svg: "" };
  expect(svg).toContain("<svg");
  expect(svg).not.toMatch(/script|evil|alert|onclick|iframe|<img|animate/i);
});

test("arrow heads stay", () => {
  expect(draw('<path marker-end="url(#arrow)"/>')?.svg).toContain("url(#arrow)");
});

test.each([
  "",
  "<svg></svg>",
  '<svg viewBox="0 0 0 5"></svg>',
  "<p>x</p>",
])("%j is no drawing", (markup) => {
  expect(drawingOf(markup)).toBeUndefined();
});
