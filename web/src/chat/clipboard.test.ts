import { expect, it } from "vitest";
import { fileName } from "@/chat/clipboard";

it("makes the name of a file of a title", () => {
  expect(fileName("Über / die: Zürich?", "md")).toBe("Über-die-Zürich.md");
  expect(fileName("../..", "json")).toBe("chat.json");
});
