import {
  ArrowLeftRight,
  Code2,
  FilePen,
  FileText,
  Globe,
  Image,
  type LucideIcon,
  Search,
  SquareTerminal,
  Table2,
  Wrench,
} from "lucide-react";
import { Outcome } from "@/parts/Answered";
import type { Answered, ToolBlock } from "@/parts/blocks";
import { Pill } from "@/parts/Pill";
import { kindOf, type ToolKind } from "@/parts/tools/kinds";
import { firstArgument, summaryOf, titleOf } from "@/parts/tools/names";
import { ToolBody } from "@/parts/tools/ToolBody";
import { useChoice } from "@/state/folds";
import { classes } from "@/ui/classes";
import { Fold } from "@/ui/Fold";

const ICONS: Record<ToolKind, LucideIcon> = {
  search: Search,
  shell: SquareTerminal,
  python: Code2,
  read: FileText,
  edit: FilePen,
  http: Globe,
  table: Table2,
  image: Image,
  handoff: ArrowLeftRight,
  other: Wrench,
};

interface ToolCardProps {
  block: ToolBlock;
  /** One line among others: a readable name, and no box. */
  quiet?: boolean;
}

/** A tool call: one row, with its input and result below. */
export function ToolCard({ block, quiet = false }: ToolCardProps) {
  const [choice, choose] = useChoice(block.key);
  const open = choice ?? false;
  return (
    <div className={quiet ? undefined : "rounded-block border bg-ground"}>
      <Fold
        open={open}
        onToggle={choose}
        headClassName={quiet ? "quiet-row" : undefined}
        head={quiet ? <QuietHead block={block} /> : <Head block={block} />}
      >
        <div className={quiet ? "quiet-body" : undefined}>
          <ToolBody block={block} named={quiet} />
        </div>
      </Fold>
      {!open && block.state === "failed" && <ErrorLine text={block.error ?? ""} quiet={quiet} />}
      {block.decision?.answer && <Decided answer={block.decision.answer} quiet={quiet} />}
    </div>
  );
}

function Head({ block }: { block: ToolBlock }) {
  const Icon = ICONS[kindOf(block)];
  return (
    <>
      <Icon aria-hidden className="size-4 shrink-0 text-ink-2" />
      <span className="max-w-[55%] shrink-0 truncate font-mono text-mono font-medium">
        {block.name}
      </span>
      <span className="min-w-0 flex-1 truncate font-mono text-mono text-ink-2">
        {firstArgument(block.input)}
      </span>
      <Pill state={block.state} />
    </>
  );
}

function QuietHead({ block }: { block: ToolBlock }) {
  const Icon = ICONS[kindOf(block)];
  return (
    <>
      <Icon aria-hidden className="size-4 shrink-0" />
      <span className="max-w-[60%] shrink-0 truncate">{titleOf(block)}</span>
      <span className="min-w-0 flex-1 truncate font-mono text-mono">{summaryOf(block)}</span>
      {block.state !== "done" && <Pill state={block.state} />}
    </>
  );
}

interface ErrorLineProps {
  text: string;
  name?: string;
  quiet?: boolean;
}

/** The error of a failed call is visible without opening the card. */
export function ErrorLine({ text, name, quiet = false }: ErrorLineProps) {
  return (
    <p
      className={classes(
        "mb-2 line-clamp-2 font-mono text-mono break-words whitespace-pre-wrap text-bad",
        quiet ? "ms-6" : "mx-3",
      )}
    >
      {name && <span className="font-medium">{name}: </span>}
      {text}
    </p>
  );
}

function Decided({ answer, quiet }: { answer: Answered; quiet: boolean }) {
  return (
    <div
      className={classes(
        "pb-2 text-block break-words whitespace-pre-wrap text-ink-2",
        quiet ? "ms-6" : "px-3",
      )}
    >
      <Outcome answer={answer} />
    </div>
  );
}
