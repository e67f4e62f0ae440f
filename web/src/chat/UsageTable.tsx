import type { ContextUse, UsageRow } from "@/chat/usageRows";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.answers;

/** Names and numbers; parts of a number are indented below it. */
export const UsageTable = ({ rows }: { rows: UsageRow[] }) => (
  <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-1 text-block">
    {rows.map(({ name, value, isPart }) => (
      <div key={name} className={classes("contents", isPart && "text-ink-2")}>
        <dt className={classes(isPart && "ps-3")}>{name}</dt>
        <dd className="text-end break-words tabular-nums">{value}</dd>
      </div>
    ))}
  </dl>
);

interface ContextMeterProps extends ContextUse {
  name: string;
}

/** How full the context of the model is, as a bar and in numbers. */
export function ContextMeter({ name, used, window }: ContextMeterProps) {
  const percent = Math.min(100, Math.round((used / window) * 100));
  const text = words.contextOf(used, window);
  return (
    <div className="mt-3 flex flex-col gap-1 text-block">
      <div className="flex justify-between gap-6">
        <span>{name}</span>
        <span className="text-end tabular-nums">{words.contextFull(percent)}</span>
      </div>
      <meter className="sr-only" aria-label={name} min={0} max={window} value={used} />
      <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-ground-3">
        <div className="h-full bg-accent" style={{ width: `${percent}%` }} />
      </div>
      <span className="text-mono text-ink-2 tabular-nums">{text}</span>
    </div>
  );
}
