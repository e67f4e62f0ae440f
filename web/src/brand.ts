/**
 * The app around the page: its name, logo and texts, and what it hides. The server writes them into the
 * page's HTML (src/mobox/server/brand.py); without any, the page is Mobox's own.
 */
import { fieldsOf, listOf, parsed, textOf } from "@/json";

/** What can be hidden; the names of the setting `hidden`. */
export const FEATURES = [
  "agents",
  "demo",
  "export",
  "feedback",
  "language",
  "panel",
  "permissions",
  "protocol",
  "runs",
  "search",
  "share",
  "shortcuts",
  "starters",
  "theme",
  "view",
] as const;
export type Feature = (typeof FEATURES)[number];

export interface Brand {
  name: string;
  /** The URL of a picture. */
  logo?: string;
  /** The heading of an empty chat. */
  welcome?: string;
  /** First messages, for agents that have none of their own. */
  starters: string[];
  hidden: readonly string[];
  /** URLs of JavaScript modules to load. */
  modules: string[];
}

export const PRODUCT = "Mobox";

const textsOf = (value: unknown) => listOf(value).filter((each) => typeof each === "string");

/** Reads what the server wrote. */
export function brandOf(text: string | null | undefined): Brand {
  const { name, logo, welcome, starters, hidden, modules } = fieldsOf(parsed(text ?? ""));
  return {
    name: textOf(name) || PRODUCT,
    logo: textOf(logo),
    welcome: textOf(welcome),
    starters: textsOf(starters),
    hidden: textsOf(hidden),
    modules: textsOf(modules),
  };
}

const written = () => document.querySelector('meta[name="mobox-brand"]')?.getAttribute("content");

export const brand: Brand = brandOf(typeof document === "undefined" ? undefined : written());

/** Whether the setting `hidden` names this. */
export const isHidden = (feature: Feature): boolean => brand.hidden.includes(feature);
