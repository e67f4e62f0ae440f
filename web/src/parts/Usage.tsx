import type { UIMessage } from "ai";

/** Stand-in. */
export function Usage({ message }: { message: UIMessage }) {
  const told = message.metadata as { durationMs?: number } | undefined;
  return <span>{told?.durationMs !== undefined && `${(told.durationMs / 1000).toFixed(1)}s`}</span>;
}
