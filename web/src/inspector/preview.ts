/** One-line previews of lines, events and frames. All of it is untrusted text. */
import type { Event, Frame } from "@/inspector/entries";
import type { Fields } from "@/json";

const MOST = 240;

/** Cut to one line of limited length. */
export const oneLine = (text: string): string => text.slice(0, MOST).replace(/\s+/g, " ");

/** Uninformative prefixes of JSON lines. */
const OPENING = /^\s*\{\s*"type":\s*"([^"\\]*)",\s*(?:"data":\s*\{)?/;

/** A line without its uninformative beginning: a row has little room. */
export const briefOfLine = (line: string): string =>
  oneLine(line.slice(0, 2 * MOST).replace(OPENING, "$1 {"));

/** The members of events and frames to show, the most informative first. */
const INFORMATIVE = [
  "message",
  "delta",
  "inputTextDelta",
  "content",
  "text",
  "errorText",
  "output",
  "toolName",
  "name",
  "agent",
  "input",
  "reason",
  "items",
  "value",
  "data",
  "title",
  "url",
  "prompt",
  "raw",
];
/** Members that only identify it. */
const NAMES: ReadonlySet<string> = new Set(["type", "id", "scope", "provider", "providerMetadata"]);

function brief(fields: Fields): string {
  const informative = INFORMATIVE.find((name) => fields[name] !== undefined && fields[name] !== "");
  if (informative !== undefined) return oneLine(written(fields[informative]));
  const others = Object.entries(fields).filter(([name]) => !NAMES.has(name));
  return others.map(([name, value]) => `${name}: ${oneLine(written(value))}`).join(", ");
}

const written = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

export const briefOf = (event: Event): string => brief(event);

/** The member that holds a frame's type, by format. */
function nameOf(frame: Frame): string {
  if (typeof frame === "string") return frame;
  const about = frame.metadata as Fields | undefined; // of `panes`: the target pane
  const name = frame.type ?? about?.component ?? Object.keys(frame)[0];
  return typeof name === "string" ? name : "";
}

interface NamedFrames {
  name: string;
  count: number;
}

/** The types of frames; consecutive equal ones once. */
export function namesOf(frames: readonly Frame[]): NamedFrames[] {
  const named: NamedFrames[] = [];
  for (const frame of frames) {
    const name = nameOf(frame);
    const known = named.find((each) => each.name === name);
    if (known) known.count++;
    else named.push({ name, count: 1 });
  }
  return named;
}

/** The preview of a single frame. */
export const briefOfFrame = (frame: Frame): string =>
  typeof frame === "string" ? "" : brief(frame);
