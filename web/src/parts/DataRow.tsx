import { Braces } from "lucide-react";
import { useMemo } from "react";
import { Chart } from "@/content/Chart";
import { readChart } from "@/content/chartData";
import { Json } from "@/content/Json";
import type { ChartBlock, DataBlock } from "@/parts/blocks";
import { useChoice } from "@/state/folds";
import { strings } from "@/strings";
import { Caption } from "@/ui/Caption";
import { Fold } from "@/ui/Fold";

/** Data parts of an application without a component of their own, collapsed. */
export function DataRow({ block: { key, items } }: { block: DataBlock }) {
  const [choice, choose] = useChoice(key);
  const head = (
    <>
      <Braces aria-hidden className="size-4 shrink-0" />
      <span>{strings.parts.data}</span>
      <span className="min-w-0 truncate font-mono text-mono">
        {[...new Set(items.map((item) => item.name))].join(", ")}
      </span>
    </>
  );
  return (
    <Fold
      open={choice ?? false}
      onToggle={choose}
      className="rounded-block border bg-ground"
      headClassName="text-ink-2"
      head={head}
    >
      <div className="space-y-3 px-3 pb-3">
        {items.map(({ name, value }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: data is only appended
          <div key={place}>
            <Caption>{name}</Caption>
            <Json value={value} label={name} />
          </div>
        ))}
      </div>
    </Fold>
  );
}

/** A chart, or its data if that cannot be read as a chart. */
export function ChartRow({ block }: { block: ChartBlock }) {
  const chart = useMemo(() => readChart(block.data), [block.data]);
  if (chart) return <Chart chart={chart} />;
  return (
    <DataRow
      block={{ kind: "data", key: block.key, items: [{ name: "chart", value: block.data }] }}
    />
  );
}
