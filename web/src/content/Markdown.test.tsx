import { fireEvent, render, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { Markdown } from "@/content/Markdown";

const show = (text: string, props = {}) => render(<Markdown text={text} {...props} />).container;

test("the end of a very long text is shown on request", () => {
  const line = "All work and no play.\n";
  const text = `# Begin\n\n${line.repeat(20_000)}The very end.`;
  const { textContent } = show(text);
  expect(textContent).toContain("Begin");
  expect(textContent).not.toContain("The very end.");
  fireEvent.click(
    screen.getByRole("button", { name: `Show all ${text.length.toLocaleString()} characters` }),
  );
  expect(document.body.textContent).toContain("The very end.");
  const words = (document.body.textContent ?? "").match(/no play/g);
  expect(words).toHaveLength(20_000);
});

test("headings begin below those of the page", () => {
  show("# One\n\n## Two\n\n### Three\n\n#### Four\n\n##### Five");
  const levels = screen.getAllByRole("heading").map((heading) => heading.tagName);
  expect(levels).toEqual(["H2", "H3", "H4", "H5", "H6"]);
});

test("a table has a name and heads of columns, and keeps its columns on their side", () => {
  show("| Service | p95 |\n|---|--:|\n| gateway | 312 |");
  const box = screen.getByRole("group", { name: "Table: Service, p95" });
  const head = within(box).getByRole("columnheader", { name: "p95" });
  expect(head.getAttribute("scope")).toBe("col");
  expect(within(box).getByRole("cell", { name: "312" }).style.textAlign).toBe("right");
});

test("an empty corner of a table is no head", () => {
  show("| | p95 |\n|---|--:|\n| gateway | 312 |");
  expect(screen.getAllByRole("columnheader")).toHaveLength(1);
});

test("headings skip no level, whatever the first one is", () => {
  show("### One\n\n##### Two\n\n### Three");
  const levels = screen.getAllByRole("heading").map((heading) => heading.tagName);
  expect(levels).toEqual(["H2", "H3", "H2"]);
});

test("tasks show whether they are done", () => {
  show("- [x] one\n- [ ] two");
  expect(screen.getAllByRole("img").map((task) => task.getAttribute("aria-label"))).toEqual([
    "Done:",
    "To do:",
  ]);
});

test("links open in a new tab, without a referrer", () => {
  show("[one](https://a.example/) and https://b.example/ and a@c.example");
  for (const link of screen.getAllByRole("link")) {
    expect(link.getAttribute("target")).toBe("_blank");
    expect(link.getAttribute("rel")).toBe("noopener noreferrer");
  }
  expect(screen.getAllByRole("link").map((link) => link.getAttribute("href"))).toEqual([
    "https://a.example/",
    "https://b.example/",
    "mailto:a@c.example",
  ]);
});

test("a link to a file of the agent is only its words", () => {
  const page = show("See [main](src/main.py)");
  expect(page.textContent).toBe("See main");
  expect(screen.queryByRole("link")).toBeNull();
});

test("an image that would be loaded is a link to it, one that is here is shown", () => {
  show("![far](https://evil.example/x.png) ![near](/x.png) ![here](data:image/png;base64,AA==)");
  const links = screen.getAllByRole("link").map((link) => [link.textContent, link]);
  expect(links).toEqual([
    ["far", expect.objectContaining({ href: "https://evil.example/x.png" })],
    ["near", expect.objectContaining({ href: `${location.origin}/x.png` })],
  ]);
  expect(screen.getAllByRole("img")).toHaveLength(1);
});

test("HTML is shown as it was written, line by line", () => {
  const page = show("a <b>bold</b>\n\n<div>\n  <i>x</i>\n</div>");
  expect(page.textContent).toContain("a <b>bold</b>");
  expect(page.textContent).toContain("<i>x</i>");
  expect(page.querySelectorAll("b, i, br")).toHaveLength(2);
});

test("a break in a cell is a break", () => {
  const page = show("| a |\n|---|\n| one<br>two |");
  expect(page.querySelector("td")?.innerHTML).toBe("one<br>\ntwo");
});

test.each([
  ["**bold", "bold", "strong"],
  ["*leaning", "leaning", "em"],
  ["`code", "code", "code"],
  ["~~gone", "gone", "del"],
  ["```python\nx = 1", "x = 1", "pre code"],
])("while it comes, %j looks as if it were finished", (text, words, element) => {
  const page = show(text, { streaming: true });
  expect(page.querySelector(element)?.textContent).toBe(words);
});

test("an unfinished link shows its words, and never half an address", () => {
  expect(show("See [the page](https://a.exa", { streaming: true }).textContent).toBe(
    "See the page",
  );
});

test("what is unfinished in one block is not repaired in another", () => {
  const page = show("A **star\n\n```python\nx = 2", { streaming: true });
  expect(page.querySelector("pre")?.textContent).toBe("x = 2");
});

test("a finished text is taken as it is", () => {
  expect(show("a **b").textContent).toBe("a **b");
});

test("a block that is finished stays when more comes, also where something looks like a footnote", () => {
  const text = "First `[^a]`.\n\nSecond";
  const page = render(<Markdown text={text} streaming />);
  const first = page.container.querySelector("p");
  page.rerender(<Markdown text={`${text} grows\n\n- and\n- grows`} streaming />);
  page.rerender(<Markdown text={`${text} grows\n\n- and\n- grows`} />);
  expect(page.container.querySelector("p")).toBe(first);
  expect(page.container.querySelectorAll("[data-prose] > *")).toHaveLength(3);
});

test("footnotes jump to their note and back, whatever other texts have", () => {
  const text = "Water[^1].\n\n[^1]: It is wet.";
  render(
    <>
      <Markdown text={text} />
      <Markdown text={text} />
    </>,
  );
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  expect(new Set(ids).size).toBe(ids.length);
  fireEvent.click(screen.getAllByRole("button", { name: "Footnote 1" })[1] as HTMLElement);
  expect(document.activeElement?.textContent).toContain("It is wet.");
  expect(document.activeElement).toBe(screen.getAllByRole("listitem")[1]);
  fireEvent.click(screen.getAllByRole("button", { name: "Back to the text" })[1] as HTMLElement);
  expect(document.activeElement).toBe(screen.getAllByRole("button", { name: "Footnote 1" })[1]);
});

const SOURCES = [
  {
    id: "a",
    number: 1,
    title: "Water",
    url: "https://a.example/",
    citedText: "It boils",
    after: 12,
  },
  { id: "b", number: 2, title: "A book", after: 12 },
  { id: "c", number: 3, title: "Trap", url: "javascript:alert(1)", after: 12 },
];

test("marks lead to their sources", () => {
  render(
    <>
      <Markdown text="Water **boils.** Yes." sources={SOURCES} />
      <p id="source-b">The book</p>
    </>,
  );
  const link = screen.getByRole("link", { name: "Source 1: Water" });
  expect(link.getAttribute("href")).toBe("https://a.example/");
  expect(link.getAttribute("title")).toBe("It boils");
  fireEvent.click(screen.getByRole("button", { name: "Source 2: A book" }));
  expect(document.activeElement?.textContent).toBe("The book");
  expect(screen.getByRole("button", { name: "Source 3: Trap" }).hasAttribute("href")).toBe(false);
});

test("emphasis that ends at a mark stays emphasis", () => {
  const text = "So **it boils.** Yes.";
  const page = show(text, { sources: [{ ...SOURCES[0], after: text.indexOf(" Yes") }] });
  expect(page.querySelector("strong")?.textContent).toBe("it boils.");
  expect(page.textContent).toBe("So it boils.1 Yes.");
});

test("a mark that a text forges, or that has no source, is not one", () => {
  const page = show("a\u2045\uee917\u2046b [1](#source-1)", { sources: SOURCES.slice(0, 1) });
  expect(screen.getAllByRole("link")).toHaveLength(1);
  expect(page.textContent).toContain("\ufffd");
});

const MATRIX = {
  resultType: "matrix",
  result: [{ metric: { job: "api" }, values: [[1700000000, "1"]] }],
};
const CHART = '<<{"type":"promql","tool_call_id":"call_1"}>>';

test("a placeholder shows the chart of its tool call", () => {
  const page = show(`Before\n\n${CHART}\n\nAfter`, {
    lookUp: (id: string) =>
      id === "call_1"
        ? { value: { status: "success", data: MATRIX }, title: "query_range" }
        : undefined,
  });
  expect(screen.getByRole("img", { name: /^Line chart: query_range. 1 series: api/ })).toBeTruthy();
  expect(page.textContent).not.toContain("<<");
});

test("a placeholder whose call gave no chart stays the text that it is", () => {
  const page = show(`Before\n\n${CHART}`, { lookUp: () => ({ value: "no data" }) });
  expect(page.textContent).toContain(CHART);
  expect(screen.queryByRole("figure")).toBeNull();
});
