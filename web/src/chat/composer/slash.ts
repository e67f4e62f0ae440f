import type { Agent } from "@/api";

/** What `/` offers. */
export type SlashItem =
  | { kind: "agent"; id: string; agent: Agent }
  | { kind: "starter"; id: string; text: string };

export interface SlashSource {
  agents: Agent[];
  starters: string[];
}

/** The words after a slash that begins the text; undefined if it is no such text. */
export function wanted(text: string): string | undefined {
  return /^\/([^\n]*)$/.exec(text)?.[1]?.trimStart().toLowerCase();
}

/** The items whose words begin with those typed. */
export function found({ agents, starters }: SlashSource, query: string): SlashItem[] {
  const usable = agents.filter(({ availability }) => availability !== "unavailable");
  const items: SlashItem[] = [
    ...usable.map((agent) => ({ kind: "agent" as const, id: `agent-${agent.id}`, agent })),
    ...starters.map((text, n) => ({ kind: "starter" as const, id: `starter-${n}`, text })),
  ];
  return items.filter((item) => matches(item, query));
}

function matches(item: SlashItem, query: string): boolean {
  const words = item.kind === "agent" ? `${item.agent.name} ${item.agent.id}` : item.text;
  const all = ` ${words.toLowerCase()}`;
  return query.split(/\s+/).every((word) => all.includes(` ${word}`));
}
