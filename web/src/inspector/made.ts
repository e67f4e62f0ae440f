import { type Entry, endingOf, type Frame, framesOf, OURS } from "@/inspector/entries";
import { END } from "@/parts/wire";

const known = new WeakMap<Entry, string[]>();

/** The parts of the message that an entry made or changed, by their names, and whose agents' they are. */
export function madeBy(entry: Entry): string[] {
  const before = known.get(entry);
  if (before) return before;
  const names = [...framesOf(entry, OURS), ...endingOf(entry, OURS)].flatMap(nameIn);
  const made = [...new Set([...names, ...(names.length ? (entry.event.scope ?? []) : [])])];
  known.set(entry, made);
  return made;
}

const ENDS: ReadonlySet<unknown> = new Set(["finish", "error"]);
/** What is said of the whole message, or of a step, is no part of it. */
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
