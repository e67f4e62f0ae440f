import { Bot, ChevronRight } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { Markdown } from "@/content/Markdown";
import type { Block, SubagentBlock } from "@/parts/blocks";
import { Pill } from "@/parts/Pill";
import { useFold } from "@/parts/useFold";
import { useTouched } from "@/state/folds";
import { strings } from "@/strings";
import { Caption } from "@/ui/Caption";
import { Fold } from "@/ui/Fold";

interface SubagentProps {
  block: SubagentBlock;
  /** Renders its blocks. */
  show: (blocks: Block[]) => ReactNode;
}

/** A subagent: its task, its blocks and its result. */
export function Subagent({ block, show }: SubagentProps) {
  const active = block.state === "running" || block.state === "preparing";
  const touched = useTouched(keysIn(block.blocks));
  const [open, toggle] = useFold(block.key, { active, touched });
  return (
    <Fold
      open={open}
      onToggle={toggle}
      className="rounded-r-block border border-l-2 border-l-accent bg-ground"
      head={<Head block={block} />}
    >
      <div className="space-y-2 pr-2 pb-3 pl-3">
        {block.task && <p className="text-block break-words text-ink-2">{block.task}</p>}
        {block.more.map(([name, value]) => (
          <p key={name} className="text-block break-words whitespace-pre-wrap">
            <span className="text-ink-2">{name}: </span>
            {value}
          </p>
        ))}
        <div className="small-text">{show(block.blocks)}</div>
        {block.summary && (
          <div className="small-text">
            <Caption>{strings.parts.result}</Caption>
            <Markdown text={block.summary} />
          </div>
        )}
      </div>
    </Fold>
  );
}

const keysIn = (blocks: Block[]): string[] =>
  blocks.flatMap((block) => {
    if (block.kind === "tools") return [block.key, ...keysIn(block.tools)];
    return block.kind === "subagent" ? [block.key, ...keysIn(block.blocks)] : [block.key];
  });

function Head({ block: { trail, task, background, state } }: { block: SubagentBlock }) {
  return (
    <>
      <Bot aria-hidden className="size-4 shrink-0 text-accent" />
      <span className="flex max-w-[60%] shrink-0 items-center gap-1 truncate font-medium">
        {trail.map((name, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the path to an agent does not change
          <Fragment key={place}>
            {place > 0 && <ChevronRight aria-hidden className="size-3 shrink-0 text-ink-2" />}
            <span className="truncate">{name}</span>
          </Fragment>
        ))}
      </span>
      <span className="min-w-0 flex-1 truncate text-ink-2 group-data-[state=open]:invisible">
        {background ? strings.parts.inBackground : task}
      </span>
      <Pill state={state} />
    </>
  );
}
