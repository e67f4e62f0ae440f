/** An agent that was sent is told of by its call, by notes and by itself: its card says it once. */

import { type Fields, isFields, textOf } from "@/json";
import type { Block, SubagentBlock, TextBlock, ToolBlock } from "@/parts/blocks";
import type { Facts } from "@/parts/facts";

/** States of a call that say no more than the state of its card. */
const QUIET: ReadonlySet<string> = new Set(["preparing", "running", "done", "stopped"]);

/** Words alone: what differs only by how it is set says the same. */
const wordsOf = (text: string): string =>
  ` ${
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(" ") ?? ""
  } `;

/** Leaves out of a card what it says elsewhere; nothing else. */
export function tellOnce(card: SubagentBlock, call: ToolBlock | undefined): void {
  const output = call && proseOf(call.output);
  const results = [output, card.summary].filter((text) => text !== undefined);
  card.blocks = card.blocks.map((block) => reportOf(block, results) ?? block);
  const reports = card.blocks.filter((block) => block.kind === "text");
  const told = wordsOf(reports.map(({ text }) => text).join("\n"));
  if (card.summary !== undefined && told.includes(wordsOf(card.summary))) delete card.summary;
  if (!call) return;
  if (call.decision || !QUIET.has(call.state)) card.blocks.unshift(call);
  else if (output !== undefined && card.summary === undefined && reports.length === 0)
    card.summary = output;
  else if (call.output !== undefined && !isTold(output, told + wordsOf(card.summary ?? "")))
    card.blocks.push(call);
}

const isTold = (output: string | undefined, told: string): boolean =>
  output !== undefined && told.includes(wordsOf(output));

/** A thought that is the result of the agent is not a thought, but what it had to say. */
function reportOf(block: Block, results: string[]): TextBlock | undefined {
  if (block.kind !== "reasoning" || block.variant !== "thinking") return undefined;
  const { key, made, text, active } = block;
  if (!results.some((result) => wordsOf(result) === wordsOf(text))) return undefined;
  return { kind: "text", key, made, text, tone: "answer", active, citations: [] };
}

/** A result that is text: plain, or in the parts that providers make of it. */
function proseOf(output: unknown): string | undefined {
  if (!Array.isArray(output)) return textOf(output);
  const texts = output.map((part) => (isFields(part) ? textOf(part.text) : undefined));
  return texts.length > 0 && texts.every((text) => text !== undefined)
    ? texts.join("\n\n")
    : undefined;
}

/** What an agent was sent with, beyond its name and its task. */
export function moreInput(
  input: unknown,
  { agent, task }: Fields,
): [name: string, value: string][] {
  const entries = Object.entries(isFields(input) ? input : {});
  return entries
    .filter(([, value]) => value !== agent && value !== task && value !== null && value !== "")
    .map(([name, value]) => [name, textOf(value) ?? JSON.stringify(value)]);
}

/** How the server's notes call the end of an agent, by its status. */
const ENDS: Record<string, string> = {
  ok: "finished",
  error: "failed",
  denied: "was denied",
  interrupted: "was interrupted",
  unknown: "ended",
};

/**
 * Whether a text has nothing but notes that agents started and ended, which their cards show. When
 * one ends that works in the background is news, far from its card.
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
  const say = (what: string, more: unknown) =>
    `${textOf(agent) || "agent"} ${what}${textOf(more) ? `: ${textOf(more)}` : ""}`.trim();
  const end = background === true ? undefined : ENDS[textOf(status) ?? ""];
  const notes = [say("started", task), ...(end ? [say(end, summary)] : [])];
  return notes.sort((a, b) => b.length - a.length);
}
