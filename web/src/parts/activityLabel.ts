/** The words of an activity line. */

import type { ActivityBlock, Block, CallState, ToolBlock } from "@/parts/blocks";
import { duration } from "@/parts/durations";
import { kindOf, type ToolKind } from "@/parts/tools/kinds";
import { summaryOf, titleOf } from "@/parts/tools/names";
import { callsIn, subagentsIn } from "@/parts/work";
import { strings } from "@/strings";

const words = strings.activity;

interface Label {
  /** What is going on, while the run is at work here. */
  now?: string;
  /** What was done so far. */
  done: string;
}

export function labelOf(block: ActivityBlock): Label {
  const counts = countsOf(block.blocks);
  if (block.active) return { now: doingIn(block.blocks), done: counts.join(words.between) };
  const { workedMs } = block;
  const worked = workedMs === undefined ? words.worked : words.workedFor(duration(workedMs));
  return { done: [worked, ...counts].join(words.between) };
}

const BUSY: ReadonlySet<CallState> = new Set(["preparing", "running"]);

/** The call that runs; what is written is shown below the line. */
function doingIn(blocks: Block[]): string {
  const call = blocks.findLast((block) => block.kind === "tool" && BUSY.has(block.state));
  if (call?.kind !== "tool") return words.working;
  const kind = kindOf(call);
  const what = summaryOf(call);
  if (kind === "other") return words.nowOther(titleOf(call), what);
  return kind === "handoff" || what === "" ? titleOf(call) : words.now[kind](what);
}

const OUTCOMES = { failed: words.failed, denied: words.denied, stopped: words.stopped };

/** Counts by kind of tool, in the order of their first calls, then what went wrong. */
function countsOf(blocks: Block[]): string[] {
  const calls = callsIn(blocks);
  const kinds = new Map<ToolKind, number>();
  for (const call of calls) kinds.set(kindOf(call), (kinds.get(kindOf(call)) ?? 0) + 1);
  const agents = subagentsIn(blocks);
  const ended = [...calls, ...agents].map(({ state }) => state);
  const outcomes = Object.entries(OUTCOMES).flatMap(([state, count]) => {
    const times = ended.filter((each) => each === state).length;
    return times > 0 ? [count(times)] : [];
  });
  return [
    ...(agents.length > 0 ? [words.subagents(agents.length)] : []),
    ...[...kinds].map(([kind, count]) => words.counts[kind](count)),
    ...outcomes,
  ];
}

/** How many blocks of work at the same time are shown below the line; the rest is behind it. */
const MOST = 5;

/** What is being written now: what is active, else the last block; calls are named in the line. */
export function nowIn(blocks: Block[]): Block[] {
  const active = blocks.filter(isActive);
  const shown = active.length > 0 ? active : blocks.slice(-1);
  return shown.filter((block) => !isCall(block)).slice(-MOST);
}

const isCall = (block: Block): block is ToolBlock => block.kind === "tool";

const isActive = (block: Block): boolean =>
  ("active" in block && block.active) || ("state" in block && BUSY.has(block.state));
