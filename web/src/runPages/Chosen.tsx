import { GitCompareArrows } from "lucide-react";
import { navigate } from "@/state/route";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.inspecting.runs;
const HINTS = [words.pickTwo, words.pickOne];

interface ChosenProps {
  picked: readonly string[];
  onClear: () => void;
}

/** The runs that were selected for a comparison. */
export function Chosen({ picked, onClear }: ChosenProps) {
  const [first, second] = picked;
  const hint = HINTS[picked.length] ?? "";
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-t bg-ground-2 px-3 py-2 pb-[max(0.5rem,env(safe-area-inset-bottom))] md:px-4">
      <p role="status" className="min-w-0 flex-1 text-mono text-ink-2">
        {hint}
      </p>
      {picked.length > 0 && (
        <Button kind="quiet" onClick={onClear}>
          {words.clear}
        </Button>
      )}
      <Button
        kind="solid"
        disabled={!first || !second}
        onClick={() => first && second && navigate({ page: "compare", first, second })}
      >
        <GitCompareArrows aria-hidden className="size-4" />
        {words.compare}
      </Button>
    </div>
  );
}
