/**
 * Loads the JavaScript modules of the app around the page (the setting `page_modules`), and gives each what
 * docs/page-modules.md documents. A module that fails leaves the page as it is without it.
 */
import { locale } from "@/language";
import { registerToolView } from "@/parts/tools/appViews";

/** Changes only when a module that works would work no more. */
const VERSION = 1;

/** What a module's default function gets. */
export const PAGE_API = Object.freeze({ version: VERSION, locale, registerToolView });

type Load = (url: string) => Promise<{ default?: unknown }>;
const load: Load = (url) => import(/* @vite-ignore */ url);

export async function loadModules(urls: readonly string[], from: Load = load): Promise<void> {
  await Promise.all(urls.map((url) => loadModule(new URL(url, document.baseURI).href, from)));
}

async function loadModule(url: string, from: Load): Promise<void> {
  try {
    const { default: setUp } = await from(url);
    if (typeof setUp !== "function") throw new TypeError("it has no default function");
    await setUp(PAGE_API);
  } catch (error) {
    console.error(`the page's module ${url} failed`, error);
  }
}
