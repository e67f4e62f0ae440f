/**
 * Syntax highlighting, loaded on demand. React renders the highlighter's tokens: its HTML is never
 * used.
 */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash,
  css,
  diff,
  go,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};

/** Maps the highlighter's scopes to a few colours. */
const COLOURS: Record<string, string> = {
  addition: "added",
  attr: "name",
  attribute: "name",
  built_in: "type",
  bullet: "keyword",
  class: "title",
  code: "string",
  comment: "comment",
  deletion: "removed",
  doctag: "comment",
  keyword: "keyword",
  link: "string",
  literal: "number",
  meta: "comment",
  name: "keyword",
  number: "number",
  property: "name",
  quote: "comment",
  regexp: "string",
  section: "title",
  "selector-class": "name",
  "selector-id": "name",
  "selector-tag": "keyword",
  string: "string",
  symbol: "number",
  tag: "plain",
  title: "title",
  type: "type",
  variable: "name",
};

export interface Token {
  text: string;
  colour?: string;
}

class Tokens {
  readonly tokens: Token[] = [];
  private readonly scopes: (string | undefined)[] = [];

  addText(text: string): void {
    const colour = this.scopes.at(-1);
    const last = this.tokens.at(-1);
    if (last && last.colour === colour) last.text += text;
    else if (text) this.tokens.push({ text, colour });
  }
  startScope(scope: string): void {
    this.scopes.push(COLOURS[scope.split(".", 1)[0] as string] ?? this.scopes.at(-1));
  }
  endScope(): void {
    this.scopes.pop();
  }
  // The highlighter calls these methods, not those in its types.
  openNode(scope: string): void {
    this.startScope(scope);
  }
  closeNode(): void {
    this.endScope();
  }
  __addSublanguage(emitter: Tokens): void {
    this.tokens.push(...emitter.tokens);
  }
  finalize(): void {}
  toHTML(): string {
    return "";
  }
}

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
hljs.configure({ __emitter: Tokens });

/** The code as coloured tokens; undefined if the highlighter lost some of it. */
export function tokenize(code: string, language: string): Token[] | undefined {
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true });
  const { tokens } = _emitter as unknown as Tokens;
  const length = tokens.reduce((sum, token) => sum + token.text.length, 0);
  return length === code.length ? tokens : undefined;
}
