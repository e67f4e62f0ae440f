/** Highlighted languages and their aliases. */
const NAMES: Record<string, string> = {
  bash: "sh shell zsh console shellsession",
  css: "",
  diff: "patch",
  go: "golang",
  javascript: "js jsx mjs cjs",
  json: "jsonc json5 jsonl ndjson",
  markdown: "md mdx",
  python: "py python3 pycon",
  rust: "rs",
  sql: "postgresql postgres mysql sqlite",
  typescript: "ts tsx mts cts",
  xml: "html svg xhtml vue",
  yaml: "yml",
};

const CANONICAL = new Map(
  Object.entries(NAMES).flatMap(([name, others]) =>
    [name, ...others.split(" ")].map((word) => [word, name] as const),
  ),
);

/** The highlighter's name of this language, if it is known. */
export const languageOf = (word: string | undefined): string | undefined =>
  word ? CANONICAL.get(word.toLowerCase()) : undefined;

const EXTENSIONS: Record<string, string> = {
  bash: "sh",
  css: "css",
  diff: "diff",
  go: "go",
  javascript: "js",
  json: "json",
  markdown: "md",
  python: "py",
  rust: "rs",
  sql: "sql",
  typescript: "ts",
  yaml: "yaml",
};

/** The extension of a file in this language. */
export function extensionOf(word: string | undefined): string {
  const known = EXTENSIONS[languageOf(word) ?? ""];
  return known ?? (/^[a-z\d]{1,8}$/i.test(word ?? "") ? (word as string).toLowerCase() : "txt");
}
