import { expect, it } from "vitest";
import { languageOf, localeOf } from "@/language";

it("takes the language of the address, then the setting, then the browser's first known one", () => {
  expect(languageOf("de", "en", ["en-GB"])).toBe("de");
  expect(languageOf(null, "de", ["en-GB"])).toBe("de");
  expect(languageOf(null, "auto", ["fr-FR", "de-AT", "en"])).toBe("de");
  expect(languageOf("tlh", "null", ["fr"])).toBe("en");
  expect(languageOf("constructor", "toString", [])).toBe("en");
});

it("formats numbers and dates as in the browser's variant of the language", () => {
  expect(localeOf("en", ["de", "en-GB"])).toBe("en-GB");
  expect(localeOf("de", ["en-GB"])).toBe("de");
  expect(localeOf("ar-XB", ["en-GB"])).toBe("en");
});
