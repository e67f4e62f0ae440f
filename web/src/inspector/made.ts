import { type Entry, endingOf, type Frame, framesOf, OURS } from "@/inspector/entries";
import { END } from "@/parts/wire";

const known = new WeakMap<Entry, string[]>();

/** The ids of message parts that an entry made or changed, and of their agents. */
export function madeBy(runId: string, entry: Entry): string[] {
  const before = known.get(entry);
  if (before) return before;
  const names = [...framesOf(entry, OURS), ...endingOf(entry, OURS)].flatMap(nameIn);
  const agents = (entry.event.scope ?? []).map((id) => `${runId}:${id}`);
  const made = [...new Set([...names, ...(names.length ? agents : [])])];
  known.set(entry, made);
  return made;
}

const ENDS: ReadonlySet<unknown> = new Set(["finish", "error"]);
/** Chunks about the whole message or a step make no part. */
const NO_PART: ReadonlySet<unknown> = new Set([
  "start",
  "start-step",
  "finish-step",
  "reset-step",
  "message-metadata",
]);

function nameIn(frame: Frame): string[] {
  if (typeof frame === "string" || NO_PART.has(frame.type)) return [];
  if (ENDS.has(frame.type)) return [END];
  const name = frame.toolCallId ?? frame.id ?? frame.sourceId ?? frame.type;
  return typeof name === "string" ? [name] : [];
}
