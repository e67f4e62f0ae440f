/** Grouping of blocks, which needs all of them. */
import type { Block, ReasoningBlock, ToolBlock, Variant } from "@/parts/blocks";
import { FINISHED } from "@/parts/calls";

const IN_A_ROW = 3;

/** Blocks that belong to others or to the whole message; they do not end reasoning before them. */
const SECONDARY: ReadonlySet<Block["kind"]> = new Set(["data", "sources", "error", "ending"]);

/** `most`: how many finished calls in a row are shown one by one. */
export function finish(blocks: Block[], most = IN_A_ROW): Block[] {
  for (const block of blocks)
    if (block.kind === "subagent") block.blocks = finish(block.blocks, most);
  const joined = joinThoughts(blocks);
  markOld(joined);
  return group(joined, most);
}

/** Joins adjacent reasoning blocks, and adjacent log blocks. */
function joinThoughts(blocks: Block[]): Block[] {
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (block.kind === "reasoning" && last?.kind === "reasoning" && last.variant === block.variant)
      joined.splice(-1, 1, join(last, block));
    else joined.push(block);
  }
  return joined;
}

const BETWEEN: Record<Variant, string> = { processing: "\n", thinking: "\n\n" };

function join(first: ReasoningBlock, then: ReasoningBlock): ReasoningBlock {
  const durations = [first.durationMs, then.durationMs].filter((ms) => ms !== undefined);
  return {
    ...first,
    text: first.text + BETWEEN[first.variant] + then.text,
    active: then.active,
    made: [...(first.made ?? []), ...(then.made ?? [])],
    ...(durations.length > 0 && { durationMs: durations.reduce((sum, ms) => sum + ms) }),
  };
}

function markOld(blocks: Block[]): void {
  let newer = false;
  for (const block of blocks.toReversed()) {
    if (block.kind === "reasoning") block.newer = newer;
    newer ||= !SECONDARY.has(block.kind);
  }
}

function group(blocks: Block[], most: number): Block[] {
  const grouped: Block[] = [];
  let row: ToolBlock[] = [];
  const endRow = () => {
    const [first] = row;
    if (first && row.length > most)
      grouped.push({
        kind: "tools",
        key: `${first.key}/row`,
        made: row.flatMap(({ made = [] }) => made),
        tools: row,
      });
    else grouped.push(...row);
    row = [];
  };
  for (const block of blocks) {
    if (block.kind === "tool" && FINISHED.has(block.state)) row.push(block);
    else {
      endRow();
      grouped.push(block);
    }
  }
  endRow();
  return grouped;
}
