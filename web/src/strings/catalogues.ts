import { type Language, language } from "@/language";
import type { Strings } from "@/strings";

type Loader = (english: Strings) => Promise<Strings>;

/** The catalogues besides English, each in a chunk of its own. */
const LOADERS: Record<Exclude<Language, "en">, Loader> = {
  de: async () => (await import("@/strings/de/index")).german,
  "ar-XB": async (english) => (await import("@/strings/pseudo")).pseudo(english),
};

/** The catalogue of the page's language; English if it cannot be loaded. */
export async function catalogue(english: Strings): Promise<Strings> {
  if (language === "en") return english;
  try {
    return await LOADERS[language](english);
  } catch {
    return english;
  }
}
