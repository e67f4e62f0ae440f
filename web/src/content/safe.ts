/**
 * The allowed elements and attributes of an agent's Markdown. HTML in it is text. Other elements are
 * removed, their text stays. Every element that Markdown renders passes through `safeTree`.
 */
import type { ExtraProps } from "streamdown";
import { MARK } from "@/content/citations";
import { FORMULA, kindOf, shown, withSources } from "@/content/formulas";
import { imageSource, linkTarget } from "@/content/urls";

type Element = NonNullable<ExtraProps["node"]>;
type Node = Element["children"][number] | { type: "raw"; value: string } | { type: "doctype" };
type Properties = Element["properties"];

const FLOW = ["dir"];
const ELEMENTS: Record<string, readonly string[]> = {
  a: ["href", "title", "dataJump", "id", "ariaLabel"],
  img: ["src", "alt", "title"],
  h2: FLOW,
  h3: FLOW,
  h4: FLOW,
  h5: FLOW,
  h6: FLOW,
  p: FLOW,
  li: [...FLOW, "className", "id"],
  th: [...FLOW, "align", "scope"],
  td: [...FLOW, "align"],
  ul: ["className"],
  ol: ["start", "className"],
  input: ["type", "checked", "disabled"],
  code: ["className"],
  section: ["dataFootnotes"],
  mark: ["dataSource"],
  ...Object.fromEntries(
    "blockquote br del em hr pre strong sub sup table tbody thead tr"
      .split(" ")
      .map((n) => [n, []]),
  ),
};
const CLASSES = /^(?:task-list-item|contains-task-list|language-[\w+#.-]{1,40})$/;
/** Headings in an answer start below the page's h1. */
const LOWERED: Record<string, string> = { h1: "h2", h2: "h3", h3: "h4", h4: "h5", h5: "h6" };
const DIRECTED = new Set(["p", "h2", "h3", "h4", "h5", "h6", "li", "td", "th"]);

/** Rehype plugin: reduces the tree to the allowed elements. */
export function safeTree() {
  return (tree: { children: Node[] }) => {
    tree.children = tree.children.flatMap((node) => safe(node, {}));
  };
}

interface Around {
  link?: boolean;
  code?: boolean;
}

function safe(node: Node, around: Around): Element["children"] {
  if (node.type === "text") return around.code ? [unmarked(node)] : marked(node.value);
  if (node.type === "raw") return [{ type: "text", value: node.value }];
  if (node.type !== "element") return [];
  if (node.tagName === "img") return picture(node, around);
  if (node.tagName === "a") return link(node, around);
  const tagName = isCorner(node) ? "td" : (LOWERED[node.tagName] ?? node.tagName);
  const children = inside(node, tagName === "pre" || tagName === "code" ? { code: true } : around);
  if (!Object.hasOwn(ELEMENTS, tagName)) return children;
  return [{ ...node, tagName, properties: attributes(tagName, node.properties), children }];
}

/** The empty head of a column, mostly the first: it names nothing. */
const isCorner = ({ tagName, children }: Element) =>
  tagName === "th" && children.every((child) => child.type === "text" && !child.value.trim());

const inside = (node: Element, around: Around) =>
  node.children.flatMap((child) => safe(child, around));

function attributes(tagName: string, given: Properties): Properties {
  const kept: Properties = {};
  for (const name of ELEMENTS[tagName] ?? []) {
    const value = given[name];
    if (value !== undefined) kept[name] = typeof value === "string" ? withSources(value) : value;
  }
  if (kept.className)
    kept.className = [kept.className].flat().filter((c) => CLASSES.test(String(c)));
  if (DIRECTED.has(tagName)) kept.dir = "auto";
  if (tagName === "th") kept.scope = "col";
  return kept;
}

/** Footnotes link within the text; other links must pass `linkTarget`. */
function link(node: Element, around: Around): Element["children"] {
  const { href, dataFootnoteRef, dataFootnoteBackref, ...rest } = node.properties;
  const children = inside(node, { ...around, link: true });
  const address = withSources(decoded(href));
  const isNote = dataFootnoteRef !== undefined || dataFootnoteBackref !== undefined;
  const where = isNote ? { dataJump: address.slice(1) } : { href: linkTarget(address) };
  if (around.link || !(where.dataJump || where.href)) return children;
  return [{ ...node, properties: attributes("a", { ...rest, ...where }), children }];
}

/** An image on another host becomes a link: nothing is requested from other hosts without a click. */
function picture(node: Element, around: Around): Element["children"] {
  const address = withSources(decoded(node.properties.src));
  const src = imageSource(address);
  const label = { type: "text", value: withSources(String(node.properties.alt ?? "")) } as const;
  if (src)
    return [{ ...node, properties: { ...attributes("img", node.properties), src }, children: [] }];
  const href = linkTarget(address);
  if (!href || around.link) return [label];
  const children = [label.value ? label : { ...label, value: href }];
  return [{ type: "element", tagName: "a", properties: { href }, children }];
}

const WORDS = new RegExp(`${MARK.source}|${FORMULA.source}`, "g");

/** Text with its marks and formulas turned into elements. */
function marked(value: string): Element["children"] {
  const nodes: Element["children"] = [];
  let from = 0;
  for (const match of value.matchAll(WORDS)) {
    if (match.index > from) nodes.push({ type: "text", value: value.slice(from, match.index) });
    nodes.push(match[1] === undefined ? formula(match[2], match[3]) : mark(match[1]));
    from = match.index + match[0].length;
  }
  if (from < value.length) nodes.push({ type: "text", value: value.slice(from) });
  return nodes;
}

const mark = (dataSource: string): Element => ({
  type: "element",
  tagName: "mark",
  properties: { dataSource },
  children: [],
});

const formula = (opened: string | undefined, hidden = ""): Element => ({
  type: "element",
  tagName: "math",
  properties: { dataKind: kindOf(opened), dataSource: shown(hidden) },
  children: [],
});

const unmarked = <T extends { value: string }>(node: T): T => ({
  ...node,
  value: withSources(node.value.replace(MARK, "")),
});

/** An address, in which Markdown has encoded private characters. */
function decoded(address: unknown): string {
  const text = String(address ?? "");
  return text.replace(/(?:%EE%B[89A][%A-F\d]{3})+/g, (found) => {
    try {
      return decodeURIComponent(found);
    } catch {
      return found;
    }
  });
}

interface Mdast {
  type: string;
  value?: string;
  children?: Mdast[];
}

/** Remark plugin: turns HTML into text, line by line. Only `<br>`, which tables need, is a break. */
export function htmlAsText() {
  return (tree: Mdast) => htmlIn(tree);
}

const HOLDS_BLOCKS = new Set(["root", "blockquote", "listItem", "footnoteDefinition"]);

function htmlIn(parent: Mdast): void {
  parent.children = parent.children?.flatMap((node) => {
    if (node.type !== "html") {
      htmlIn(node);
      return [node];
    }
    const value = node.value ?? "";
    if (/^<br\s*\/?>$/i.test(value))
      return HOLDS_BLOCKS.has(parent.type) ? [] : [{ type: "break" }];
    const lines = value.split("\n").flatMap((line, index): Mdast[] => {
      const text = { type: "text", value: line };
      return index ? [{ type: "break" }, text] : [text];
    });
    return HOLDS_BLOCKS.has(parent.type) ? [{ type: "paragraph", children: lines }] : lines;
  });
}
