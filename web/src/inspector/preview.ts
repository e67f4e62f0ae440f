/** One line that says what a thing is about. All of it is text that agents and models wrote. */
import type { Event, Frame } from "@/inspector/entries";
import type { Fields } from "@/json";

const MOST = 240;

/** On one line, and not too long for a row. */
export const oneLine = (text: string): string => text.slice(0, MOST).replace(/\s+/g, " ");

/** How lines of JSON begin that say little until they come to what they are about. */
const OPENING = /^\s*\{\s*"type":\s*"([^"\\]*)",\s*(?:"data":\s*\{)?/;

/** A line as it is, but for its opening: there is little room in a row. */
export const briefOfLine = (line: string): string =>
  oneLine(line.slice(0, 2 * MOST).replace(OPENING, "$1 {"));

/** Where the words are in events and frames, the most telling first. */
const TELLING = [
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
/** What says only which one it is. */
const NAMES: ReadonlySet<string> = new Set(["type", "id", "scope", "provider", "providerMetadata"]);

function brief(fields: Fields): string {
  const telling = TELLING.find((name) => fields[name] !== undefined && fields[name] !== "");
  if (telling !== undefined) return oneLine(written(fields[telling]));
  const others = Object.entries(fields).filter(([name]) => !NAMES.has(name));
  return others.map(([name, value]) => `${name}: ${oneLine(written(value))}`).join(", ");
}

const written = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

export const briefOf = (event: Event): string => brief(event);

/** What a format calls a frame. */
function nameOf(frame: Frame): string {
  if (typeof frame === "string") return frame;
  const about = frame.metadata as Fields | undefined; // of panes: into which one it goes
  const name = frame.type ?? about?.component ?? Object.keys(frame)[0];
  return typeof name === "string" ? name : "";
}

interface NamedFrames {
  name: string;
  count: number;
}

/** The names of frames, each once in a row. */
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

/** What a single frame says. */
export const briefOfFrame = (frame: Frame): string =>
  typeof frame === "string" ? "" : brief(frame);
