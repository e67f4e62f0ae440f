import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { diff } from "@codemirror/legacy-modes/mode/diff";
import { json } from "@codemirror/legacy-modes/mode/javascript";
import { r } from "@codemirror/legacy-modes/mode/r";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { standardSQL } from "@codemirror/legacy-modes/mode/sql";
import type { Extension } from "@codemirror/state";
import { languageOf } from "@/content/languages";

const simple = (parser: StreamParser<unknown>) => () => StreamLanguage.define(parser);

/** Languages that agents run. Each adds to the bundle size. */
const LANGUAGES: Record<string, () => Extension> = {
  bash: simple(shell),
  diff: simple(diff),
  javascript: () => javascript({ jsx: true }),
  json: simple(json),
  python: () => python(),
  r: simple(r),
  sql: simple(standardSQL),
  typescript: () => javascript({ jsx: true, typescript: true }),
};

/** The parser of a language; unknown languages are plain text. */
export function readerOf(language: string | undefined): Extension {
  return LANGUAGES[languageOf(language) ?? language ?? ""]?.() ?? [];
}
