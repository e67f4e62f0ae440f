import { expect, it } from "vitest";
import { brandOf } from "@/brand";

it("is Mobox's own page if the server wrote nothing, or nothing that can be read", () => {
  for (const text of [undefined, null, "", "{", "[]", "1", '{"name":1,"starters":"x"}']) {
    expect(brandOf(text)).toEqual({
      name: "Mobox",
      logo: undefined,
      welcome: undefined,
      starters: [],
      hidden: [],
      modules: [],
    });
  }
});

it("has the name, the texts and what is hidden", () => {
  const text =
    '{"name":"Acme","welcome":"Hi","starters":["a",2],"hidden":["demo"],"modules":["./a.js"]}';
  expect(brandOf(text)).toEqual({
    name: "Acme",
    logo: undefined,
    welcome: "Hi",
    starters: ["a"],
    hidden: ["demo"],
    modules: ["./a.js"],
  });
});
