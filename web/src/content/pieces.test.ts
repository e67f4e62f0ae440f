import { expect, test } from "vitest";
import { blocks, growingBlocks } from "@/content/blocks";

test("blocks are the text, cut", () => {
  const text =
    "# A\n\nText `[^a]` of\ntwo lines\n\n- one\n- two\n\n```\n[^x]\n\ny\n```\n\n| a |\n|---|\n| b |\n";
  expect(blocks(text).join("")).toBe(text);
  expect(blocks(text)).toHaveLength(5);
});

test("a text with notes is one block, since they belong to all of it", () => {
  expect(blocks("A[^1]\n\nB\n\n[^1]: note")).toHaveLength(1);
});

test("only the last block is repaired", () => {
  expect(growingBlocks("a **b\n\nc **d")).toEqual(["a **b\n\n", "c **d**"]);
  expect(growingBlocks("")).toEqual([]);
});
