import { expect, it } from "vitest";
import { frameOf } from "@/frame";

it("is embedded below its own path only", () => {
  expect(frameOf("/embed", "/", "").isEmbedded).toBe(true);
  expect(frameOf("/below/embed/chat/c1", "/below/", "").isEmbedded).toBe(true);
  for (const path of ["/", "/chat/embed", "/embedded", "/chat"]) {
    expect(frameOf(path, "/", "?agent=a&close=1")).toEqual({
      isEmbedded: false,
      canClose: false,
      options: [],
    });
  }
});

it("keeps the site's options, and nothing else of the address", () => {
  const { agent, canClose, options } = frameOf("/embed", "/", "?agent=a&close=1&message=m&lang=de");
  expect([agent, canClose]).toEqual(["a", true]);
  expect(options).toEqual([
    ["agent", "a"],
    ["close", "1"],
    ["lang", "de"],
  ]);
});
