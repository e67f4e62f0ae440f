/** Names of tools and steps for people. The identifier itself is in the details. */
import { fieldsOf, isFields, textOf } from "@/json";
import type { ToolBlock } from "@/parts/blocks";
import { kindOf, type ToolKind, withoutServer } from "@/parts/tools/kinds";
import { strings } from "@/strings";

const LONGEST = 200;

/** `internet_search` and `InternetSearch` become "Internet search". */
export function readable(identifier: string): string {
  const words = withoutServer(identifier)
    .replace(/^server:/, "")
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_\-.\s]+/g, " ")
    .trim();
  if (words === "") return identifier;
  const text = words === words.toUpperCase() && words.includes(" ") ? words.toLowerCase() : words;
  return lowered(text.charAt(0).toUpperCase() + text.slice(1));
}

/** All but the first word in lower case, except abbreviations. */
const lowered = (text: string): string =>
  text.replace(/ [A-Z][a-z]+/g, (word) => word.toLowerCase());

/** What a call is, in a few words. */
export function titleOf(block: ToolBlock): string {
  if (kindOf(block) !== "handoff") return readable(block.name);
  const to = textOf(fieldsOf(block.input).agent_name) ?? textOf(fieldsOf(block.input).agent);
  const named = /(?:transfer|hand_?off)_to_(.+)$/i.exec(block.name)?.[1];
  const who = to ?? (named === "agent" ? undefined : named);
  return who === undefined ? readable(block.name) : strings.activity.tookOver(readable(who));
}

/** The members of an input that say the most, by kind. */
const MAIN: Partial<Record<ToolKind, string[]>> = {
  shell: ["command", "cmd", "commands", "action"],
  python: ["code", "source", "script"],
  read: ["file_path", "path", "absolute_path", "filename", "paths"],
  edit: ["file_path", "path", "absolute_path", "filename"],
  search: ["query", "q", "queries", "pattern", "search_query", "path"],
  http: ["url", "uri"],
  table: ["sql", "query", "statement"],
  image: ["prompt"],
  handoff: [],
};

/** What a call is about, on one line. */
export function summaryOf(block: ToolBlock): string {
  const main = MAIN[kindOf(block)];
  if (main?.length === 0) return "";
  const input = block.input;
  if (!isFields(input)) return firstArgument(input);
  const name = main?.find((each) => input[each] !== undefined);
  return firstArgument(name === undefined ? input : input[name]);
}

/** The first member of an input, on one line. */
export function firstArgument(input: unknown): string {
  const first = isFields(input) ? Object.values(input)[0] : input;
  if (first === undefined || first === null) return "";
  const text = typeof first === "string" ? first : JSON.stringify(first);
  return text.slice(0, LONGEST).replace(/\s+/g, " ").trim();
}
