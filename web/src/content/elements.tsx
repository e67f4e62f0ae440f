import { Square, SquareCheck } from "lucide-react";
import { type ComponentProps, createContext, type ReactNode, useContext } from "react";
import { type ExtraProps, type StreamdownProps, useIsCodeFenceIncomplete } from "streamdown";
import { Code } from "@/content/Code";
import { Diagram } from "@/content/diagrams/Diagram";
import { Formula, FormulaBlock, PendingFormula } from "@/content/Formula";
import { SourceMark, show } from "@/content/Marks";
import { ScrollBox } from "@/content/ScrollBox";
import { strings } from "@/strings";

/** The prefix of this text's ids: other texts have footnotes, too. */
export const IdPrefix = createContext("");

type Props<Name extends keyof React.JSX.IntrinsicElements> = ComponentProps<Name> & ExtraProps;
type Node = NonNullable<ExtraProps["node"]>;

function Link({ node, href, children, title, ...rest }: Props<"a"> & { "data-jump"?: string }) {
  const prefix = useContext(IdPrefix);
  const jump = rest["data-jump"];
  if (jump === undefined) {
    return (
      <a href={href} title={title} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  }
  return (
    <button
      type="button"
      id={rest.id && prefix + rest.id}
      aria-label={rest["aria-label"] ?? strings.content.footnote(textOf(node))}
      onClick={() => show(prefix + jump)}
      className="note-mark"
    >
      {children}
    </button>
  );
}

function Item({ node: _, id, ...rest }: Props<"li">) {
  const prefix = useContext(IdPrefix);
  return <li {...rest} id={id && prefix + id} />;
}

/** A wide table scrolls in its own box. */
function Table({ node, children }: Props<"table">) {
  return (
    <ScrollBox label={strings.content.table(headings(node))} className="table-box">
      <table>{children}</table>
    </ScrollBox>
  );
}

function Task({ checked }: Props<"input">) {
  const Icon = checked ? SquareCheck : Square;
  const label = checked ? strings.content.done : strings.content.open;
  return <Icon role="img" aria-label={label} className="task-box" />;
}

function Picture({ node: _, alt = "", ...rest }: Props<"img">) {
  return <img {...rest} alt={alt} loading="lazy" decoding="async" />;
}

/** Languages that are drawn. */
const DRAWN = new Map<string | undefined, typeof Diagram | typeof FormulaBlock>([
  ["mermaid", Diagram],
  ["math", FormulaBlock],
]);

function CodeBlock({ className, children }: Props<"code">) {
  const isUnfinished = useIsCodeFenceIncomplete();
  const code = words(children).replace(/\n$/, "");
  const language = /language-(\S+)/.exec(className ?? "")?.[1];
  const Drawn = DRAWN.get(language?.toLowerCase());
  if (Drawn) return <Drawn code={code} isUnfinished={isUnfinished} />;
  return <Code code={code} language={language} tools />;
}

const InlineCode = ({ children }: Props<"code">) => (
  <code className="code-word font-mono">{children}</code>
);

const Mark = (props: { "data-source"?: string }) => (
  <SourceMark number={Number(props["data-source"])} />
);

function Maths(props: { "data-kind"?: string; "data-source"?: string }) {
  const kind = props["data-kind"];
  if (kind === "pending") return <PendingFormula />;
  return <Formula source={props["data-source"] ?? ""} isDisplay={kind === "display"} />;
}

/**
 * Components for all elements. All of streamdown's own components are replaced: its styles, controls
 * and link confirmation are not ours. Only `pre` must stay, since streamdown uses it to distinguish
 * code blocks from inline code.
 */
const plain = Object.fromEntries(
  "blockquote h1 h2 h3 h4 h5 h6 hr ol p section strong sub sup tbody td th thead tr ul"
    .split(" ")
    .map((name) => [name, name]),
);
export const elements = {
  ...plain,
  a: Link,
  code: CodeBlock,
  img: Picture,
  inlineCode: InlineCode,
  input: Task,
  li: Item,
  mark: Mark,
  math: Maths,
  table: Table,
} as StreamdownProps["components"];

const words = (children: ReactNode): string =>
  typeof children === "string"
    ? children
    : Array.isArray(children)
      ? children.map(words).join("")
      : "";

function textOf(node: Node["children"][number] | undefined): string {
  if (node?.type === "text") return node.value;
  return node?.type === "element" ? node.children.map(textOf).join("") : "";
}

/** The column names. */
function headings(node: Node | undefined): string[] {
  if (node?.tagName === "th") return [textOf(node)];
  const inner = node?.children.filter((child) => child.type === "element") ?? [];
  return inner.filter((child) => child.tagName !== "tbody").flatMap(headings);
}
