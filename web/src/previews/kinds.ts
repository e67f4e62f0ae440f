import { languageOf } from "@/content/languages";
import type { PreviewedFile } from "@/state/preview";

/** How a file is shown. */
export type PreviewKind =
  | "markdown"
  | "html"
  | "table"
  | "image"
  | "pdf"
  | "code"
  | "text"
  | "none";

const BY_EXTENSION: Record<string, PreviewKind> = {
  md: "markdown",
  markdown: "markdown",
  html: "html",
  htm: "html",
  csv: "table",
  tsv: "table",
  pdf: "pdf",
  txt: "text",
  log: "text",
  toml: "text",
  ini: "text",
};
const BY_TYPE: [RegExp, PreviewKind][] = [
  [/^text\/(?:x-)?markdown$/, "markdown"],
  [/^text\/html$/, "html"],
  [/^text\/(?:csv|tab-separated-values)$/, "table"],
  [/^image\/(?:png|apng|jpe?g|gif|webp|avif|bmp|svg\+xml)$/, "image"],
  [/^application\/pdf$/, "pdf"],
  [/^application\/(?:json|yaml|xml|javascript)$/, "code"],
  [/^text\//, "text"],
];

export const extensionIn = (name: string): string =>
  /\.([a-z\d]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? "";

/** The kind of a file by its name and its type; code and text by their bytes, if neither says it. */
export function kindOf({
  name,
  mediaType,
}: Pick<PreviewedFile, "name" | "mediaType">): PreviewKind {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  const byType = BY_TYPE.find(([pattern]) => pattern.test(type))?.[1];
  if (byType && byType !== "text") return byType;
  const extension = extensionIn(name);
  return BY_EXTENSION[extension] ?? (languageOf(extension) ? "code" : (byType ?? "none"));
}

const CONTROLS = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A name without characters that turn the writing or end the line: `photo\u202egnp.exe` is not a picture. */
export const shownName = (name: string): string => name.replace(CONTROLS, "\ufffd");
