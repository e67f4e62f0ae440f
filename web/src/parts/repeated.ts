/** Lines of a log that say nothing that a card does not show, and lines of a quick start. */
import type { Block, ReasoningBlock } from "@/parts/blocks";
import type { Facts } from "@/parts/facts";

/** The server's lines about a plan. */
const PLAN = /^(?:Planned \d+ steps?|\d+ of \d+ steps? done)(?:: (?:finished )?(.*))?$/s;

/** The server's lines about a start, in runs of earlier versions. */
const START = /^(?:Creating the sandbox|Setting up the environment|Starting .{1,80})$/;
const QUICK = 1000;

/** Blocks without such lines; empty ones are left out. */
export function withoutRepeated(blocks: Block[], { planned }: Facts): Block[] {
  const items = [...new Set(planned)].sort((a, b) => b.length - a.length);
  return blocks.flatMap((block) => {
    if (block.kind !== "reasoning" || block.variant !== "processing") return [block];
    const lines = block.text.split("\n").filter((line) => !isRepeated(line, block, items));
    return lines.length === 0 ? [] : [{ ...block, text: lines.join("\n") }];
  });
}

function isRepeated(line: string, block: ReasoningBlock, items: string[]): boolean {
  const isQuick = block.durationMs !== undefined && block.durationMs < QUICK;
  return (isQuick && START.test(line)) || (items.length > 0 && isAboutPlan(line, items));
}

/** Whether a line names nothing but items of the plan: an item that is no longer in it is kept. */
function isAboutPlan(line: string, items: string[]): boolean {
  const about = PLAN.exec(line);
  if (!about) return false;
  const rest = items.reduce((text, item) => text.replaceAll(item, ""), about[1] ?? "");
  return /^[;\s]*$/.test(rest);
}
