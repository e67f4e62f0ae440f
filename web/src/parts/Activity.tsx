import { ChevronRight, LoaderCircle, Sparkles } from "lucide-react";
import { type ReactNode, useId } from "react";
import { labelOf, nowIn } from "@/parts/activityLabel";
import type { ActivityBlock, Block } from "@/parts/blocks";
import { Linked } from "@/parts/Linked";
import { every, FEW, keysIn } from "@/parts/work";
import { keepOpen, useChoice, useOpened } from "@/state/folds";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

interface ActivityProps {
  block: ActivityBlock;
  /** The id of its message. */
  run: string;
  /** Renders its blocks. */
  show: (blocks: Block[]) => ReactNode;
}

/**
 * The work before a text: one line that opens to its steps. While the run is at work here, the line says
 * what is going on, and what is being written is below it. Steps that the user opened stay, too.
 */
export function Activity({ block, run, show }: ActivityProps) {
  const id = useId();
  const [choice, choose] = useChoice(block.key);
  const [keeps] = keepOpen.use();
  const opened = useOpened(keysIn(block.blocks));
  const isFew = block.blocks.length <= FEW;
  const open = choice ?? keeps;
  const now = block.active ? nowIn(block.blocks) : [];
  const isKept = (each: Block) =>
    choice === undefined && keysIn([each]).some((key) => opened.has(key));
  const shown =
    isFew || open
      ? block.blocks
      : block.blocks.filter((each) => now.includes(each) || isKept(each));
  // The inspector finds what is not shown at the line.
  const behind = block.blocks.filter((each) => !shown.includes(each));
  const hidden = every(behind).flatMap(({ made = [] }) => made);
  return (
    <div>
      {!isFew && (
        <Linked run={run} made={hidden}>
          <Line block={block} open={open} list={id} onToggle={() => choose(!open)} />
        </Linked>
      )}
      <div id={id} className={classes(!isFew && shown.length > 0 && "ms-2 border-s ps-2")}>
        {show(shown)}
      </div>
    </div>
  );
}

interface LineProps {
  block: ActivityBlock;
  open: boolean;
  /** The id of its steps. */
  list: string;
  onToggle: () => void;
}

function Line({ block, open, list, onToggle }: LineProps) {
  const { now, done } = labelOf(block);
  const Icon = block.active ? LoaderCircle : Sparkles;
  return (
    <button
      type="button"
      aria-expanded={open}
      aria-controls={list}
      onClick={onToggle}
      className="quiet-row flex w-full items-center gap-2 rounded-small text-start text-block"
    >
      <Icon
        aria-hidden
        className={classes("size-4 shrink-0", block.active && "animate-spin text-running")}
      />
      <span className="min-w-0 text-pretty break-words">
        {now !== undefined && <span className="shimmer shimmer-activity font-medium">{now}</span>}
        {now !== undefined && done !== "" && strings.activity.between}
        {done}
      </span>
      <ChevronRight
        aria-hidden
        className={classes(
          "size-4 shrink-0 transition-transform duration-200",
          open ? "rotate-90" : "rtl:rotate-180",
        )}
      />
    </button>
  );
}
