import {
  Circle,
  CircleCheck,
  CircleDot,
  CircleStop,
  CircleX,
  ListChecks,
  type LucideIcon,
} from "lucide-react";
import type { Item, ItemState, StepsBlock, TodosBlock } from "@/parts/blocks";
import { useChoice } from "@/state/folds";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { Fold } from "@/ui/Fold";

const words = strings.parts;

const LOOKS: Record<ItemState, { icon: LucideIcon; look: string }> = {
  pending: { icon: Circle, look: "text-ink-2" },
  running: { icon: CircleDot, look: "text-running" },
  done: { icon: CircleCheck, look: "text-ok" },
  failed: { icon: CircleX, look: "text-bad" },
  stopped: { icon: CircleStop, look: "text-ink-2" },
};

/** The agent's plan and its progress. */
export function Todos({ block, quiet = false }: { block: TodosBlock; quiet?: boolean }) {
  return quiet ? <Plan block={block} /> : <Stepper items={block.items} strikes />;
}

/** The steps so far, without a plan. */
export function Steps({ block: { items }, quiet = false }: { block: StepsBlock; quiet?: boolean }) {
  if (quiet) return <Lines items={items} quiet className="py-1 text-block text-ink-2" />;
  return <Stepper items={items} />;
}

/** The plan as one line, which stays in sight while the run works on it. */
function Plan({ block: { key, items, pinned } }: { block: TodosBlock }) {
  const [choice, choose] = useChoice(key);
  const done = items.filter((item) => item.state === "done").length;
  const now = pinned ? items.find((item) => item.state === "running") : undefined;
  const head = (
    <>
      <ListChecks aria-hidden className="size-4 shrink-0" />
      <span className="shrink-0">{strings.activity.plan}</span>
      <span className="min-w-0 flex-1 truncate font-medium">{now?.text}</span>
      <span className="shrink-0 tabular-nums">{words.stepsDone(done, items.length)}</span>
    </>
  );
  return (
    <Fold
      open={choice ?? false}
      onToggle={choose}
      className={pinned ? "overflow-hidden rounded-block border bg-ground" : undefined}
      headClassName={pinned ? undefined : "quiet-row"}
      head={head}
    >
      <Lines
        items={items}
        strikes
        quiet={!pinned}
        className="max-h-[40dvh] overflow-y-auto px-3 pb-3 text-block"
      />
    </Fold>
  );
}

function Stepper({ items, strikes = false }: { items: Item[]; strikes?: boolean }) {
  const done = items.filter((item) => item.state === "done").length;
  return (
    <div className="rounded-block border bg-ground px-3 py-2.5 text-block">
      {(strikes || items.length > 1) && <Progress done={done} count={items.length} />}
      <Lines items={items} strikes={strikes} />
    </div>
  );
}

interface LinesProps {
  items: Item[];
  strikes?: boolean;
  /** Colour only for what is going on. */
  quiet?: boolean;
  className?: string;
}

const Lines = ({ items, strikes = false, quiet = false, className }: LinesProps) => (
  <ol className={classes("space-y-1.5", className)}>
    {items.map((item, number) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: an item is identified by its index
      <Line key={number} item={item} strikes={strikes} quiet={quiet} />
    ))}
  </ol>
);

function Progress({ done, count }: { done: number; count: number }) {
  return (
    <div className="mb-2.5">
      <div className="mb-2 flex items-center gap-2">
        <ListChecks aria-hidden className="size-4 shrink-0 text-ink-2" />
        <span className="font-medium">{words.steps(count)}</span>
        <span className="ms-auto text-ink-2 tabular-nums">{words.stepsDone(done, count)}</span>
      </div>
      <div
        role="progressbar"
        aria-label={words.steps(count)}
        aria-valuenow={done}
        aria-valuemin={0}
        aria-valuemax={count}
        aria-valuetext={words.stepsDone(done, count)}
        className="h-1 overflow-hidden rounded-full bg-ground-3"
      >
        <div
          className="h-full rounded-full bg-ok transition-[width] duration-300"
          style={{ width: `${(100 * done) / count}%` }}
        />
      </div>
    </div>
  );
}

interface LineProps {
  item: Item;
  strikes: boolean;
  quiet: boolean;
}

function Line({ item: { text, state }, strikes, quiet }: LineProps) {
  const { icon: Icon, look } = LOOKS[state];
  const isOver = strikes && state === "done";
  return (
    <li className="flex items-start gap-2">
      <Icon
        aria-hidden
        className={classes(
          "mt-[3px] size-4 shrink-0",
          quiet && state !== "running" ? "text-ink-2" : look,
        )}
      />
      <span className="sr-only">{words.itemStates[state]}: </span>
      <span
        className={classes(
          "min-w-0 break-words",
          isOver && "text-ink-2 line-through",
          state === "running" && "font-medium",
        )}
      >
        {text}
      </span>
    </li>
  );
}
