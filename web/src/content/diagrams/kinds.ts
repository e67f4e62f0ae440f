/**
 * Which Mermaid diagrams are drawn. The others need half a megabyte each, or are new and rare:
 * vite.config.ts leaves their code out of the build.
 */
export const KINDS = {
  flowchart: /^(?:graph|flowchart(?:-elk)?)\b/,
  sequence: /^sequenceDiagram\b/,
  class: /^classDiagram(?:-v2)?\b/,
  state: /^stateDiagram(?:-v2)?\b/,
  entities: /^erDiagram\b/,
  gantt: /^gantt\b/,
  pie: /^pie\b/,
  journey: /^journey\b/,
  timeline: /^timeline\b/,
  quadrant: /^quadrantChart\b/,
  chart: /^xychart(?:-beta)?\b/,
  requirement: /^requirementDiagram\b/,
  kanban: /^kanban\b/,
};
export type DiagramKind = keyof typeof KINDS;

/** Larger diagrams would stop the page while they are laid out. */
export const LONGEST = 10_000;
const MOST_LINES = 400;
/** A picture in a diagram would be requested while it is measured. */
const LOADS = /\bimg["']?\s*:|<\s*img|<\s*image|url\s*\(|@import/i;

interface Facts {
  kind: DiagramKind;
  /** As its author gave it; may be empty. */
  title: string;
  /** Without its settings, which are ours, and without HTML. */
  source: string;
}

/** What a diagram is, or why it is not drawn. */
export function factsOf(text: string): Facts | "unknown" | "large" | "loads" {
  if (text.length > LONGEST || text.split(/[\n;]/).length > MOST_LINES) return "large";
  if (LOADS.test(text)) return "loads";
  const title = /^(?:\s*accTitle\s*:|\s*title\s*:?|pie\s+(?:showData\s+)?title)\s+(.+)$/m.exec(
    text,
  );
  const source = withoutTags(withoutSettings(text));
  const kind = Object.keys(KINDS).find((name) => KINDS[name as DiagramKind].test(source));
  if (!kind) return "unknown";
  return {
    kind: kind as DiagramKind,
    title: (title?.[1] ?? "").replaceAll('"', "").trim().slice(0, 120),
    source,
  };
}

const FRONT = /^\s*---\n(?:[\s\S]*?\n)?---\s*\n/;
const DIRECTIVE = /%%\{[\s\S]*?\}%%/g;
const COMMENT = /^\s*%%.*$/gm;

/** Links and menus, which a picture does not have. */
const ACTION =
  /^\s*(?:(?:links?|properties|details)\s+[^\s:]+\s*:|(?:click|link|callback)\s+\S+\s+(?:href|call|callback|")).*$/gm;

/** Without front matter, directives, comments and actions: an agent could set the limits with them. */
const withoutSettings = (text: string): string =>
  [FRONT, DIRECTIVE, COMMENT, ACTION]
    .reduce((rest, part) => rest.replace(part, ""), text.replace(/\r\n?/g, "\n"))
    .trim();

const FORMATTING = /<\/?(?:b|i|u|s|em|strong|small|code|sub|sup|span|p|div|font)(?:\s[^<>]*)?>/gi;
/** What may look like a tag: a stereotype of a class, a line break. Everything else is one. */
const TAG = /<<[\w-]+>>|<br\s*\/?>|<(?=[a-z/!?])/gi;

/** The same as `<` and `&` by their names and numbers, which Mermaid decodes, some of them twice. */
const ENTITIES: [RegExp, string][] = [
  [/[#&]#?(?:amp|0*38|x0*26);?/gi, "\uff06"],
  [/[#&]#?(?:lt|0*60|x0*3c);?/gi, "\u2039"],
];

/**
 * Without tags: Mermaid makes elements of labels before it sanitizes them. A tag without an end would get
 * one from what is written after it, so its `<` is replaced.
 */
function withoutTags(text: string): string {
  const plain = ENTITIES.reduce((done, [entity, instead]) => done.replace(entity, instead), text);
  const words = plain.replace(FORMATTING, "");
  return words.replace(TAG, (found) => (found === "<" ? "\u2039" : found));
}
