import { describe, expect, it } from "vitest";
import { newId } from "@/ids";

describe("an id", () => {
  it("is made also where the page is not secure", () => {
    const insecure = {
      getRandomValues: crypto.getRandomValues.bind(crypto),
    } as unknown as Crypto;
    const ids = new Set(Array.from({ length: 100 }, () => newId(insecure)));
    expect(ids.size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });
});
