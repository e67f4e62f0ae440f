import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Markdown } from "@/content/Markdown";

// jsdom has no layout, which Mermaid needs: tests/web draws real ones.
vi.mock("@/content/diagrams/mermaid", () => ({
  draw: async (source: string) => {
    if (source.includes("broken")) throw new Error("Parse error");
    return { svg: "<svg/>", width: 10, height: 20 };
  },
}));

const fence = (code: string, closed = true) => `\`\`\`mermaid\n${code}${closed ? "\n```" : ""}`;

test("a diagram is a picture with a name, and shows its source on request", async () => {
  render(<Markdown text={fence("graph TD\naccTitle: The way\nA-->B")} />);
  const picture = await screen.findByRole("img", { name: "Flowchart: The way" });
  expect(picture.getAttribute("src")).toMatch(/^data:image\/svg\+xml/);
  fireEvent.click(screen.getByRole("button", { name: "Show source" }));
  expect(screen.getByRole("group", { name: /^Source of/ }).textContent).toContain("A-->B");
  fireEvent.click(screen.getByRole("button", { name: "Show diagram" }));
  fireEvent.click(screen.getByRole("button", { name: "Enlarge diagram" }));
  expect(screen.getByRole("dialog", { name: "Flowchart: The way" })).toBeTruthy();
});

test("a diagram that is being written has a place, and nothing else", () => {
  const text = fence("graph TD\nA--", false);
  const { container, rerender } = render(<Markdown text={text} streaming />);
  expect(screen.getByText("Drawing a diagram…")).toBeTruthy();
  expect(container.textContent).not.toContain("graph");
  rerender(<Markdown text={`${text}>B\n`} streaming />);
  expect(container.textContent).not.toContain("graph");
});

test.each([
  ["graph TD\nbroken", "This diagram couldn't be drawn. This is its source."],
  ["mindmap\n root", "Diagrams of this kind are not drawn here. This is its source."],
  [`graph TD\n${"A\n".repeat(500)}`, "This diagram is too large to be drawn. This is its source."],
  ["graph TD\nA[<img src=x>]", "Diagrams with pictures are not drawn. This is its source."],
])("%.20j shows its source and says why", async (code, line) => {
  const { container } = render(<Markdown text={fence(code)} />);
  expect(await screen.findByText(line)).toBeTruthy();
  expect(container.querySelector("code")?.textContent).toContain(code.slice(0, 12));
});
