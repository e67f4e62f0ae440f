import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Code } from "@/content/Code";
import { tokenize } from "@/content/highlight";

const PYTHON = 'def f(x):\n    return "<b>" # done';

test("code is there at once, and gets its colours later, with the same words", async () => {
  const page = render(<Code code={PYTHON} language="py" />);
  const code = page.container.querySelector("code");
  expect(code?.innerHTML).not.toContain("<span");
  expect(code?.textContent).toBe(PYTHON);
  await waitFor(() => expect(code?.querySelector(".code-keyword")?.textContent).toBe("def"));
  expect(code?.querySelector(".code-string")?.textContent).toBe('"<b>"');
  expect(code?.textContent).toBe(PYTHON);
});

test("code that grows keeps its colours, and shows what came since without them", async () => {
  const page = render(<Code code="import os" language="python" />);
  const code = page.container.querySelector("code");
  await waitFor(() => expect(code?.querySelector(".code-keyword")).toBeTruthy());
  page.rerender(<Code code={"import os\nimport re"} language="python" />);
  expect(code?.textContent).toBe("import os\nimport re");
  expect(code?.querySelectorAll(".code-keyword")).toHaveLength(1);
  await waitFor(() => expect(code?.querySelectorAll(".code-keyword")).toHaveLength(2));
});

test("every language that has a name has colours, and loses no character", () => {
  const samples: Record<string, string> = {
    bash: 'for f in *; do echo "$f"; done',
    css: ".a { color: red }",
    diff: "- a\n+ b",
    go: "func main() { return 1 }",
    javascript: "const a = `x` // c",
    json: '{"a": [1, true, null]}',
    markdown: "# A\n\n- **b**",
    python: PYTHON,
    rust: "fn main() { let x = 1; }",
    sql: "SELECT 1 FROM a",
    typescript: "type A = { b: string }",
    xml: "<style>.a { color: red }</style><script>let a = 1</script>",
    yaml: "a: [1, true]",
  };
  for (const [language, code] of Object.entries(samples)) {
    const tokens = tokenize(code, language);
    expect(tokens?.map((token) => token.text).join(""), language).toBe(code);
    expect(
      tokens?.some((token) => token.colour),
      language,
    ).toBe(true);
  }
});

test("code can be copied, with a confirmation", async () => {
  const user = userEvent.setup();
  render(<Code code="a = 1" language="python" />);
  await user.click(screen.getByRole("button", { name: "Copy python code" }));
  expect(await navigator.clipboard.readText()).toBe("a = 1");
  expect(await screen.findByRole("button", { name: "Copied" })).toBeTruthy();
  expect(document.querySelector('[aria-live="polite"]')?.textContent).toBe("Copied");
});

test("a copy that the browser blocks is reported", async () => {
  const user = userEvent.setup();
  vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new DOMException("no"));
  render(<Code code="a = 1" language="python" />);
  await user.click(screen.getByRole("button", { name: "Copy python code" }));
  const blocked = "Your browser blocked copying.";
  expect(await screen.findByRole("button", { name: blocked })).toBeTruthy();
});

test("lines can be wrapped and numbered, and saved to a file", () => {
  Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => {} });
  const { container } = render(<Code code={"one\ntwo"} language="python" tools />);
  const body = container.querySelector("pre");
  expect(body?.classList.contains("code-wrap")).toBe(false);
  const wrap = screen.getByRole("button", { name: "Wrap lines" });
  fireEvent.click(wrap);
  expect(wrap.getAttribute("aria-pressed")).toBe("true");
  expect(body?.classList.contains("code-wrap")).toBe(true);
  fireEvent.click(screen.getByRole("button", { name: "Line numbers" }));
  expect(container.querySelectorAll(".code-line")).toHaveLength(2);
  expect(container.querySelector("code")?.textContent?.trimEnd()).toBe("one\ntwo");
  let saved = "";
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    saved = this.download;
  });
  fireEvent.click(screen.getByRole("button", { name: "Download code" }));
  expect(saved).toBe("code.py");
});
