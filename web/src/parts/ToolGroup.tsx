import { CircleX, Wrench } from "lucide-react";
import type { ToolsBlock } from "@/parts/blocks";
import { ErrorLine, ToolCard } from "@/parts/ToolCard";
import { useChoice, useTouched } from "@/state/folds";
import { strings } from "@/strings";
import { Fold } from "@/ui/Fold";

const words = strings.parts;

/** Consecutive calls as one group. A card that the user opened stays visible in it. */
export function ToolGroup({ block: { key, tools } }: { block: ToolsBlock }) {
  const [choice, choose] = useChoice(key);
  const touched = useTouched(tools.map((tool) => tool.key));
  const open = choice ?? touched;
  const failed = tools.filter((tool) => tool.state === "failed");
  const head = (
    <>
      <Wrench aria-hidden className="size-4 shrink-0 text-ink-2" />
      <span className="font-medium">{words.usedTools(tools.length)}</span>
      {failed.length > 0 && (
        <span className="inline-flex items-center gap-1 rounded-full bg-bad-ground px-2 py-0.5 text-label font-medium text-bad">
          <CircleX aria-hidden className="size-3" />
          {words.failedTools(failed.length)}
        </span>
      )}
    </>
  );
  return (
    <div className="rounded-block border bg-ground">
      <Fold open={open} onToggle={choose} head={head}>
        <div className="space-y-2 px-2 pb-2">
          {tools.map((tool) => (
            <ToolCard key={tool.key} block={tool} />
          ))}
        </div>
      </Fold>
      {!open &&
        failed.map(({ key: id, error, name }) => (
          <ErrorLine key={id} name={name} text={error ?? words.callStates.failed} />
        ))}
    </div>
  );
}
