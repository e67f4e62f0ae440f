/** A subagent appears in its call, in notes and in its own output: its card shows each fact once. */

import { type Fields, isFields, textOf } from "@/json";
import type { Block, SubagentBlock, TextBlock, ToolBlock } from "@/parts/blocks";
import type { Facts } from "@/parts/facts";

/** States of a call that add nothing to the card's state. */
const QUIET: ReadonlySet<string> = new Set(["preparing", "running", "done", "stopped"]);

/** Compares words only, not formatting. */
const wordsOf = (text: string): string =>
  ` ${
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(" ") ?? ""
  } `;

/** Removes repeated content from a card, and nothing else. */
export function removeRepeated(card: SubagentBlock, call: ToolBlock | undefined): void {
  const output = call && proseOf(call.output);
  const results = [output, card.summary].filter((text) => text !== undefined);
  card.blocks = card.blocks.map((block) => reportOf(block, results) ?? block);
  const reports = card.blocks.filter((block) => block.kind === "text");
  const reported = wordsOf(reports.map(({ text }) => text).join("\n"));
  if (card.summary !== undefined && reported.includes(wordsOf(card.summary))) delete card.summary;
  if (!call) return;
  if (call.decision || !QUIET.has(call.state)) card.blocks.unshift(call);
  else if (output !== undefined && card.summary === undefined && reports.length === 0)
    card.summary = output;
  else if (call.output !== undefined && !isReported(output, reported + wordsOf(card.summary ?? "")))
    card.blocks.push(call);
}

const isReported = (output: string | undefined, reported: string): boolean =>
  output !== undefined && reported.includes(wordsOf(output));

/** A reasoning block equal to the agent's result is shown as the result. */
function reportOf(block: Block, results: string[]): TextBlock | undefined {
  if (block.kind !== "reasoning" || block.variant !== "thinking") return undefined;
  const { key, made, text, active } = block;
  if (!results.some((result) => wordsOf(result) === wordsOf(text))) return undefined;
  return { kind: "text", key, made, text, tone: "answer", active, citations: [] };
}

/** A text result: plain, or in the content parts of providers. */
function proseOf(output: unknown): string | undefined {
  if (!Array.isArray(output)) return textOf(output);
  const texts = output.map((part) => (isFields(part) ? textOf(part.text) : undefined));
  return texts.length > 0 && texts.every((text) => text !== undefined)
    ? texts.join("\n\n")
    : undefined;
}

/** The input of a subagent's call, without its name and task. */
export function moreInput(
  input: unknown,
  { agent, task }: Fields,
): [name: string, value: string][] {
  const entries = Object.entries(isFields(input) ? input : {});
  return entries
    .filter(([, value]) => value !== agent && value !== task && value !== null && value !== "")
    .map(([name, value]) => [name, textOf(value) ?? JSON.stringify(value)]);
}

/** The server's wording for the end of a subagent, by status. */
const ENDS: Record<string, string> = {
  ok: "finished",
  error: "failed",
  denied: "was denied",
  interrupted: "was interrupted",
  unknown: "ended",
};

/**
 * Whether a text contains only notes about the start and end of subagents, which their cards show. The
 * end of a background subagent happens far from its card, so that note stays.
 */
export function isOnCards(text: string, { subagents }: Facts): boolean {
  const notes = [...subagents.values()].flatMap(notesOf);
  let rest = text.trim();
  while (rest !== "") {
    const note = notes.find((each) => rest === each || rest.startsWith(`${each}\n`));
    if (note === undefined) return false;
    rest = rest.slice(note.length).trimStart();
  }
  return true;
}

function notesOf({ agent, task, summary, status, background }: Fields): string[] {
  const noteOf = (what: string, more: unknown) =>
    `${textOf(agent) || "agent"} ${what}${textOf(more) ? `: ${textOf(more)}` : ""}`.trim();
  const end = background === true ? undefined : ENDS[textOf(status) ?? ""];
  const notes = [noteOf("started", task), ...(end ? [noteOf(end, summary)] : [])];
  return notes.sort((a, b) => b.length - a.length);
}
