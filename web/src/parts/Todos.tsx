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
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.parts;

const LOOKS: Record<ItemState, { icon: LucideIcon; look: string }> = {
  pending: { icon: Circle, look: "text-ink-2" },
  running: { icon: CircleDot, look: "text-running" },
  done: { icon: CircleCheck, look: "text-ok" },
  failed: { icon: CircleX, look: "text-bad" },
  stopped: { icon: CircleStop, look: "text-ink-2" },
};

/** The agent's plan and its progress. */
export function Todos({ block: { items } }: { block: TodosBlock }) {
  return <Stepper items={items} strikes />;
}

/** The steps so far, without a plan. */
export function Steps({ block: { items } }: { block: StepsBlock }) {
  return <Stepper items={items} />;
}

function Stepper({ items, strikes = false }: { items: Item[]; strikes?: boolean }) {
  const done = items.filter((item) => item.state === "done").length;
  return (
    <div className="rounded-block border bg-ground px-3 py-2.5 text-block">
      {(strikes || items.length > 1) && <Progress done={done} count={items.length} />}
      <ol className="space-y-1.5">
        {items.map((item, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an item is identified by its index
          <Line key={number} item={item} strikes={strikes} />
        ))}
      </ol>
    </div>
  );
}

function Progress({ done, count }: { done: number; count: number }) {
  return (
    <div className="mb-2.5">
      <div className="mb-2 flex items-center gap-2">
        <ListChecks aria-hidden className="size-4 shrink-0 text-ink-2" />
        <span className="font-medium">{words.steps(count)}</span>
        <span className="ml-auto text-ink-2 tabular-nums">{words.stepsDone(done, count)}</span>
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

function Line({ item: { text, state }, strikes }: { item: Item; strikes: boolean }) {
  const { icon: Icon, look } = LOOKS[state];
  const isOver = strikes && state === "done";
  return (
    <li className="flex items-start gap-2">
      <Icon aria-hidden className={classes("mt-[3px] size-4 shrink-0", look)} />
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
