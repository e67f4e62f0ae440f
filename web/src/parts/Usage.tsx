import type { UIMessage } from "ai";
import { usageOf } from "@/parts/usage";

/** A simulated model, tokens, cost and duration of an answer, if known. */
export function Usage({ message }: { message: UIMessage }) {
  const usage = usageOf(message);
  if (!usage) return null;
  return (
    <span className="text-label text-ink-2 tabular-nums" title={usage.more || undefined}>
      {usage.line}
      {usage.more && <span className="sr-only"> ({usage.more})</span>}
    </span>
  );
}
