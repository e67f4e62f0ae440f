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

/** Output before the answer: a log (Processing) or reasoning (Thinking). */
export function Reasoning({ block }: { block: ReasoningBlock }) {
  const [open, toggle] = useFold(block.key, block);
  const look = LOOKS[block.variant];
  return (
    <Fold
      open={open}
      onToggle={toggle}
      className={classes("rounded-block border", look.box)}
      headClassName={look.ink}
      head={<Label block={block} look={look} />}
    >
      {block.variant === "processing" ? (
        <Lines text={block.text} />
      ) : (
        <div className="small-text px-3 pb-3">
          <Markdown text={block.text} streaming={block.active} />
        </div>
      )}
    </Fold>
  );
}

function Label({ block: { active, durationMs }, look }: { block: ReasoningBlock; look: Look }) {
  const Icon = active ? look.icons.active : look.icons.over;
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
      <span className={classes("font-medium", active && classes("shimmer", look.shimmer))}>
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
