import { LANGUAGE_KEY, LANGUAGES } from "@/language";
import { oneOf, stored } from "@/state/stored";

export const LANGUAGE_CHOICES = ["auto", ...(Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[])];
export type LanguageChoice = "auto" | keyof typeof LANGUAGES;

/** The chosen language; `auto` is the browser's. */
export const languageChoice = stored<LanguageChoice>(
  LANGUAGE_KEY,
  "auto",
  oneOf(...(LANGUAGE_CHOICES as LanguageChoice[])),
);

/** All texts are read when the page is loaded. */
export function chooseLanguage(choice: LanguageChoice): void {
  languageChoice.set(choice);
  try {
    sessionStorage.removeItem(LANGUAGE_KEY); // of an address with ?lang=
  } catch {
    // storage is disabled
  }
  const url = new URL(location.href);
  url.searchParams.delete("lang");
  location.replace(url.href);
  if (url.href === location.href) location.reload();
}
