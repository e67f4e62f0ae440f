import { Bot, ChevronRight } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { Markdown } from "@/content/Markdown";
import type { Block, SubagentBlock } from "@/parts/blocks";
import { Pill } from "@/parts/Pill";
import { useFold } from "@/parts/useFold";
import { keysIn } from "@/parts/work";
import { useTouched } from "@/state/folds";
import { strings } from "@/strings";
import { Caption } from "@/ui/Caption";
import { classes } from "@/ui/classes";
import { Fold } from "@/ui/Fold";

interface SubagentProps {
  block: SubagentBlock;
  quiet?: boolean;
  /** Renders its blocks. */
  show: (blocks: Block[]) => ReactNode;
}

/** A subagent: its task, its blocks and its result. */
export function Subagent({ block, quiet = false, show }: SubagentProps) {
  const active = block.state === "running" || block.state === "preparing";
  const touched = useTouched(keysIn(block.blocks));
  const [open, toggle] = useFold(block.key, { active, touched });
  const isQuiet = quiet && !active;
  return (
    <Fold
      open={open}
      onToggle={toggle}
      className={
        isQuiet ? undefined : "rounded-e-block border border-s-2 border-s-accent bg-ground"
      }
      headClassName={isQuiet ? "quiet-row" : undefined}
      head={<Head block={block} quiet={isQuiet} />}
    >
      <div className={classes("space-y-2 pe-2 pb-3 ps-3", isQuiet && "quiet-body")}>
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

function Head({ block, quiet }: { block: SubagentBlock; quiet: boolean }) {
  const { trail, task, background, state } = block;
  return (
    <>
      <Bot aria-hidden className={classes("size-4 shrink-0", !quiet && "text-accent")} />
      <span className="flex max-w-[60%] shrink-0 items-center gap-1 truncate">
        {trail.map((name, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the path to an agent does not change
          <Fragment key={place}>
            {place > 0 && <ChevronRight aria-hidden className="size-3 shrink-0 text-ink-2" />}
            <span className={classes("truncate", !quiet && "font-medium")}>{name}</span>
          </Fragment>
        ))}
      </span>
      <span className="min-w-0 flex-1 truncate text-ink-2 group-data-[state=open]:invisible">
        {background ? strings.parts.inBackground : task}
      </span>
      {(!quiet || state !== "done") && <Pill state={state} />}
    </>
  );
}
