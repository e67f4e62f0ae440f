import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { drawer } from "@/content/Formula";
import { Markdown } from "@/content/Markdown";

const show = async (text: string, props = {}) => {
  await drawer.load();
  return render(<Markdown text={text} {...props} />).container;
};

test("formulas are drawn, and can be read aloud", async () => {
  const box = await show("Recall is $\\frac{a}{b}$.\n\n$$\nx^2\n$$");
  expect(box.querySelectorAll("math mfrac")).toHaveLength(1);
  expect(box.querySelector(".katex-display math")?.textContent).toContain("x");
  expect(screen.getByRole("group", { name: "Formula" })).toBeTruthy();
  expect(box.querySelector(".katex-html")?.getAttribute("aria-hidden")).toBe("true");
});

test("money is not a formula", async () => {
  const box = await show("It costs $5 and $6.");
  expect(box.textContent).toBe("It costs $5 and $6.");
});

test("TeX survives Markdown: stars, lines, tables, lists and emphasis", async () => {
  const box = await show(
    "**$a*b*c$** and _x_\n\n| $|x|$ | b |\n|---|---|\n| $p_1$ | $p_2$ |\n\n- $y$",
  );
  expect(box.querySelectorAll("annotation")).toHaveLength(5);
  expect(box.querySelectorAll("annotation")[1]?.textContent).toBe("|x|");
  expect(box.querySelectorAll("td")).toHaveLength(2);
});

test("formulas in code and in addresses are left alone", async () => {
  const box = await show("`$x$` [a](https://a.example/$y$)\n\n    $z$\n");
  expect(box.querySelector(".katex")).toBeNull();
  expect(box.textContent).toContain("$x$");
  expect(box.textContent).toContain("$z$");
  expect(screen.getByRole("link").getAttribute("href")).toBe("https://a.example/$y$");
});

test("what cannot be drawn is shown as it was written, with a sentence", async () => {
  const box = await show("$\\frac{1}{$ and\n\n$$\n\\begin{foo}x\\end{foo}\n$$");
  expect(box.textContent).toContain("$\\frac{1}{$");
  expect(box.textContent).toContain("\\begin{foo}x\\end{foo}");
  expect(screen.getAllByText(/This formula couldn't be displayed/)).toHaveLength(2);
});

test("a fence of maths is a formula", async () => {
  const box = await show("```math\n\\alpha + 1\n```");
  expect(box.querySelector(".katex-display")).toBeTruthy();
});

test("an unfinished formula does not show its source", async () => {
  const box = await show("So\n\n$$\n\\frac{1}{", { streaming: true });
  expect(box.textContent).toContain("A formula is being written.");
  expect(box.textContent).not.toContain("frac");
});

test("a formula does not take a citation apart", async () => {
  const sources = [{ id: "1", number: 1, title: "A", url: "https://a.example", after: 5 }];
  const box = await show("It is $x + y$ here.", { sources });
  expect(box.querySelector("annotation")?.textContent).toBe("x + y");
  expect(screen.getByRole("link", { name: "Source 1: A" })).toBeTruthy();
});

test("macros that grow are stopped soon", async () => {
  const bomb = `\\def\\a{${"x".repeat(300)}}${"\\a".repeat(40)}`;
  const began = performance.now();
  await show(`$${bomb}$ and $\\def\\b{\\b\\b}\\b$ and $${"{".repeat(900)}$`);
  expect(performance.now() - began).toBeLessThan(5_000);
});
