/**
 * The answer first: the work between two texts is one block, which the page shows as one line.
 *
 * Rule 1: no block is left out or shown twice; only the plan of a run at work, and remarks after the
 * answer, are moved.
 * Rule 2: what waits for a person, and what an agent made to be seen, is never inside such a block.
 */
import type { ActivityBlock, Block, SubagentBlock, ToolBlock } from "@/parts/blocks";
import type { Facts } from "@/parts/facts";
import { picturesIn } from "@/parts/pictures";

/** Up to this many blocks are shown by themselves. */
export const FEW = 2;

export function foldWork(blocks: Block[], facts: Facts, durationMs?: number): Block[] {
  const folded = new Folding(facts).fold(blocks);
  if (facts.over && !facts.broken) putRemarksFirst(folded);
  measure(folded, facts.over ? durationMs : undefined);
  const last = folded.findLast((block) => !FINAL.has(block.kind));
  if (facts.live && last?.kind === "activity") last.active = true;
  return folded;
}

const FINAL: ReadonlySet<Block["kind"]> = new Set(["sources", "error", "ending"]);

class Folding {
  readonly #folded: Block[] = [];
  #open: ActivityBlock | undefined;

  constructor(private readonly facts: Facts) {}

  fold(blocks: Block[]): Block[] {
    for (const block of blocks) this.#add(block);
    return this.#folded;
  }

  #add(block: Block): void {
    if (block.kind === "todos" && this.facts.live) this.#pin({ ...block, pinned: true });
    else if (isWork(block)) this.#work(block);
    else {
      this.#open = undefined;
      this.#folded.push(block);
    }
  }

  /** The plan stands before the work that it is for. */
  #pin(plan: Block): void {
    const at = this.#open ? this.#folded.indexOf(this.#open) : this.#folded.length;
    this.#folded.splice(at, 0, plan);
  }

  #work(block: Block): void {
    if (this.#open) this.#open.blocks.push(block);
    else {
      this.#open = { kind: "activity", key: `${block.key}/work`, blocks: [block], active: false };
      this.#folded.push(this.#open);
    }
  }
}

const WORK: ReadonlySet<Block["kind"]> = new Set([
  "reasoning",
  "tool",
  "tools",
  "todos",
  "steps",
  "subagent",
  "data",
]);

const isWork = (block: Block): boolean => WORK.has(block.kind) && !isToBeSeen(block);

const SEEN: ReadonlySet<Block["kind"]> = new Set(["chart", "files", "error", "request"]);

function isToBeSeen(block: Block): boolean {
  if (block.kind === "tool") return block.state === "waiting" || hasPictures(block);
  if (block.kind === "subagent") return block.blocks.some(isToBeSeen);
  return SEEN.has(block.kind);
}

const hasPictures = ({ output }: ToolBlock): boolean => picturesIn(output).length > 0;

/** What an agent logs after its answer is work, too: the answer is the last to be read. */
function putRemarksFirst(folded: Block[]): void {
  const at = folded.findLastIndex((block) => !FINAL.has(block.kind));
  const last = folded[at];
  const answer = folded.findLastIndex((block) => block.kind === "text");
  if (last?.kind !== "activity" || answer < 0 || !last.blocks.every(isRemark)) return;
  folded.splice(at, 1);
  const before = folded[answer - 1];
  if (before?.kind === "activity") before.blocks.push(...last.blocks);
  else folded.splice(answer, 0, last);
}

const isRemark = ({ kind }: Block): boolean => kind === "reasoning";

/** A text tells how long the agent worked before it; without a text that is the whole run. */
function measure(folded: Block[], durationMs: number | undefined): void {
  let stretch: ActivityBlock[] = [];
  const isWordless = !folded.some((block) => block.kind === "text");
  for (const block of folded) {
    if (block.kind === "activity") stretch.push(block);
    if (block.kind !== "text") continue;
    take(stretch, block.workedMs);
    stretch = [];
  }
  if (isWordless) take(stretch, durationMs);
}

function take(stretch: ActivityBlock[], ms: number | undefined): void {
  const [only, ...others] = stretch;
  if (only && others.length === 0 && ms !== undefined) only.workedMs = ms;
}

/** All blocks, with those inside others. */
export const every = (blocks: Block[]): Block[] =>
  blocks.flatMap((block) => [block, ...every(inside(block))]);

function inside(block: Block): Block[] {
  if (block.kind === "tools") return block.tools;
  return block.kind === "subagent" || block.kind === "activity" ? block.blocks : [];
}

export const keysIn = (blocks: Block[]): string[] => every(blocks).map(({ key }) => key);

/** The calls of a stretch, also those of subagents. */
export const callsIn = (blocks: Block[]): ToolBlock[] =>
  every(blocks).filter((block): block is ToolBlock => block.kind === "tool");

export const subagentsIn = (blocks: Block[]): SubagentBlock[] =>
  every(blocks).filter((block): block is SubagentBlock => block.kind === "subagent");
