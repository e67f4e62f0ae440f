import { expect, test } from "vitest";
import { growingPieces, pieces } from "@/content/pieces";

test("the pieces are the text, cut", () => {
  const text =
    "# A\n\nText `[^a]` of\ntwo lines\n\n- one\n- two\n\n```\n[^x]\n\ny\n```\n\n| a |\n|---|\n| b |\n";
  expect(pieces(text).join("")).toBe(text);
  expect(pieces(text)).toHaveLength(5);
});

test("a text with notes is one block, since they belong to all of it", () => {
  expect(pieces("A[^1]\n\nB\n\n[^1]: note")).toHaveLength(1);
});

test("only the last block is repaired", () => {
  expect(growingPieces("a **b\n\nc **d")).toEqual(["a **b\n\n", "c **d**"]);
  expect(growingPieces("")).toEqual([]);
});
