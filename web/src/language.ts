/**
 * The page's language: that of the address (`?lang=de`, kept for the tab), else the person's choice, else
 * the browser's. It is read once: the page is loaded again when it changes.
 */
interface LanguageFacts {
  /** In the language itself. */
  name: string;
  dir: "ltr" | "rtl";
}

export const LANGUAGES = {
  en: { name: "English", dir: "ltr" },
  de: { name: "Deutsch", dir: "ltr" },
} as const satisfies Record<string, LanguageFacts>;

/** For tests: English text in brackets, from right to left. Its name is CLDR's for such a language. */
const PSEUDO = "ar-XB";
export type Language = keyof typeof LANGUAGES | typeof PSEUDO;

/** The setting in `localStorage`, as state/language.ts writes it. */
export const LANGUAGE_KEY = "mobox:language";

const isLanguage = (word: string | null | undefined): word is Language =>
  word === PSEUDO || (typeof word === "string" && Object.hasOwn(LANGUAGES, word));

const primary = (tag: string) => tag.toLowerCase().split("-")[0];

/** The first of these that there is a catalogue for. */
export function languageOf(
  asked: string | null,
  chosen: string | null,
  browser: readonly string[],
): Language {
  const known = [asked, chosen].find(isLanguage);
  return known ?? browser.map(primary).find(isLanguage) ?? "en";
}

/** The browser's variant of the language (`en-GB`), for numbers and dates. */
export function localeOf(language: Language, browser: readonly string[]): string {
  if (language === PSEUDO) return "en";
  return browser.find((tag) => primary(tag) === language) ?? language;
}

function attempt<T>(action: () => T): T | null {
  try {
    return action();
  } catch {
    return null; // storage is disabled, or its value is not ours
  }
}

function asked(): string | null {
  const named = new URLSearchParams(location.search).get("lang");
  if (isLanguage(named)) attempt(() => sessionStorage.setItem(LANGUAGE_KEY, named));
  return isLanguage(named) ? named : attempt(() => sessionStorage.getItem(LANGUAGE_KEY));
}

const chosen = () =>
  attempt(() => String(JSON.parse(localStorage.getItem(LANGUAGE_KEY) ?? "null")));

const hasPage = typeof document !== "undefined";
const browser = hasPage ? navigator.languages : [];

export const language: Language = hasPage ? languageOf(asked(), chosen(), browser) : "en";
export const locale = localeOf(language, browser);
export const direction: LanguageFacts["dir"] =
  language === PSEUDO ? "rtl" : LANGUAGES[language].dir;

if (hasPage) {
  document.documentElement.lang = locale;
  document.documentElement.dir = direction;
}
