/** What can be said of blocks only when all are there. */
import type { Block, ToolBlock } from "@/parts/blocks";
import { FINISHED } from "@/parts/calls";

/** As many finished calls in a row are shown one by one. */
const IN_A_ROW = 3;

/** Blocks that are news of their own. A plan or a list of sources is not: it goes with others. */
const NEWS: ReadonlySet<Block["kind"]> = new Set([
  "text",
  "reasoning",
  "tool",
  "tools",
  "subagent",
  "request",
  "files",
  "chart",
]);

export function finish(blocks: Block[]): Block[] {
  for (const block of blocks) if (block.kind === "subagent") block.blocks = finish(block.blocks);
  markOld(blocks);
  return group(blocks);
}

function markOld(blocks: Block[]): void {
  let newer = false;
  for (const block of blocks.toReversed()) {
    if (block.kind === "reasoning") block.newer = newer;
    newer ||= NEWS.has(block.kind);
  }
}

function group(blocks: Block[]): Block[] {
  const grouped: Block[] = [];
  let row: ToolBlock[] = [];
  const endRow = () => {
    const [first] = row;
    if (first && row.length > IN_A_ROW)
      grouped.push({ kind: "tools", key: `${first.key}/row`, tools: row });
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
