import { Brain, Check, type LucideIcon, Settings } from "lucide-react";
import { Markdown } from "@/content/Markdown";
import type { ReasoningBlock, Variant } from "@/parts/blocks";
import { duration } from "@/parts/durations";
import { useFold } from "@/parts/useFold";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { Fold } from "@/ui/Fold";
import "@/parts/parts.css";

interface Look {
  box: string;
  ink: string;
  shimmer: string;
  active: string;
  over: string;
  overIn: (duration: string) => string;
  icons: { active: LucideIcon; over: LucideIcon };
}

const LOOKS: Record<Variant, Look> = {
  processing: {
    box: "border-processing-line bg-processing-ground",
    ink: "text-processing",
    shimmer: "shimmer-processing",
    active: strings.parts.processing,
    over: strings.parts.processed,
    overIn: strings.parts.processedIn,
    icons: { active: Settings, over: Check },
  },
  thinking: {
    box: "border-thinking-line bg-thinking-ground",
    ink: "text-thinking",
    shimmer: "shimmer-thinking",
    active: strings.parts.thinking,
    over: strings.parts.thought,
    overIn: strings.parts.thoughtFor,
    icons: { active: Brain, over: Brain },
  },
};

interface ReasoningProps {
  block: ReasoningBlock;
  /** No box and no colour once it has ended. */
  quiet?: boolean;
}

/** Output before the answer: a log (Processing) or reasoning (Thinking). */
export function Reasoning({ block, quiet = false }: ReasoningProps) {
  const [open, toggle] = useFold(block.key, block);
  const look = LOOKS[block.variant];
  const isQuiet = quiet && !block.active;
  return (
    <Fold
      open={open}
      onToggle={toggle}
      className={isQuiet ? undefined : classes("rounded-block border", look.box)}
      headClassName={isQuiet ? "quiet-row" : look.ink}
      head={<Label block={block} look={look} quiet={isQuiet} />}
    >
      <div className={isQuiet ? "quiet-body" : undefined}>
        {block.variant === "processing" ? (
          <Lines text={block.text} />
        ) : (
          <div className="small-text px-3 pb-3">
            <Markdown text={block.text} streaming={block.active} />
          </div>
        )}
      </div>
    </Fold>
  );
}

interface LabelProps {
  block: ReasoningBlock;
  look: Look;
  quiet: boolean;
}

/** No tick where the run failed, and none in a quiet row. */
function Label({ block: { active, durationMs, broken }, look, quiet }: LabelProps) {
  const Icon = active || broken || quiet ? look.icons.active : look.icons.over;
  const over = durationMs === undefined ? look.over : look.overIn(duration(durationMs));
  return (
    <>
      <Icon
        aria-hidden
        className={classes(
          "size-4 shrink-0",
          active && look.icons.active === Settings && "animate-spin [animation-duration:3s]",
        )}
      />
      <span
        className={classes(!quiet && "font-medium", active && classes("shimmer", look.shimmer))}
      >
        {active ? look.active : over}
      </span>
    </>
  );
}

/** Log lines in one element: a log may have thousands. */
function Lines({ text }: { text: string }) {
  return (
    <div className="px-3 pb-3 font-mono text-mono leading-[1.7] break-words whitespace-pre-wrap text-ink-2">
      {text}
    </div>
  );
}
