import { memo, useId, useMemo, useState } from "react";
import { defaultRemarkPlugins, Streamdown, type StreamdownProps } from "streamdown";
import { Chart } from "@/content/Chart";
import { Code } from "@/content/Code";
import { readChart } from "@/content/chartData";
import { type Source, withMarks } from "@/content/citations";
import { elements, IdPrefix } from "@/content/elements";
import { SourcesAround } from "@/content/Marks";
import { growingPieces, pieces } from "@/content/pieces";
import "@/content/markdown.css";
import { type Placeholder, segments } from "@/content/placeholders";
import { htmlAsText, safeTree } from "@/content/safe";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface MarkdownProps {
  text: string;
  /** More may come: what is unfinished is shown as if it were finished. */
  streaming?: boolean;
  /** What the text rests on, by which it gets its marks. */
  sources?: readonly Source[];
  /** What a tool call gave, by its id: charts in the text name it. */
  lookUp?: (toolCallId: string) => Given | undefined;
}

export interface Given {
  value: unknown;
  /** Of a chart that has no title of its own. */
  title?: string;
}

const NO_SOURCES: readonly Source[] = [];
/** Characters: what is longer than anybody reads would hold up the page with every word. */
const MOST = 300_000;
const BEGINNING = 100_000;

/** What an agent wrote, as it meant it, and nothing more: see safe.ts for what it may be. */
export function Markdown(props: MarkdownProps) {
  const { text } = props;
  if (text.length <= MOST) return <Whole {...props} />;
  const end = text.lastIndexOf("\n", BEGINNING) + 1 || BEGINNING;
  return (
    <>
      <Whole {...props} text={text.slice(0, end)} streaming={false} />
      <Rest text={text.slice(end)} all={text.length} />
    </>
  );
}

/** The end of a very long text, as it was written, once somebody wants it. */
function Rest({ text, all }: { text: string; all: number }) {
  const [shown, setShown] = useState(false);
  if (shown) return <Code bare wrap code={text} label={strings.content.plainText} />;
  return (
    <Button kind="quiet" className="mt-1" onClick={() => setShown(true)}>
      {strings.content.showAll(all)}
    </Button>
  );
}

function Whole({ text, streaming = false, sources = NO_SOURCES, lookUp }: MarkdownProps) {
  const prefix = useId();
  const parts = useMemo(
    () => segments(withMarks(text, sources), streaming),
    [text, sources, streaming],
  );
  return (
    <IdPrefix value={prefix}>
      <SourcesAround value={sources}>
        <div className="md">
          {parts.map((part, index) => {
            if (part.kind === "chart")
              return <PlacedChart key={part.at} {...part} lookUp={lookUp} />;
            const last = index === parts.length - 1;
            return <Prose key={part.at} text={part.text} streaming={streaming && last} />;
          })}
        </div>
      </SourcesAround>
    </IdPrefix>
  );
}

// Streamdown keeps one processor for the whole page, by the plugins' names: they must not differ
// between texts. Without rehype-raw among them no HTML is ever parsed.
const REMARK = [
  ...Object.values(defaultRemarkPlugins),
  htmlAsText,
] as StreamdownProps["remarkPlugins"];
const REHYPE = [safeTree] as StreamdownProps["rehypePlugins"];
const TO_HTML = {
  footnoteLabel: strings.content.footnotes,
  footnoteBackLabel: strings.content.backToText,
  clobberPrefix: "",
};
const ASK_BEFORE_LINKS = { enabled: false };

/** Text in blocks, of which only those that change are made anew. */
const Prose = memo(({ text, streaming }: { text: string; streaming: boolean }) => (
  // A prefix that no stylesheet knows takes streamdown's own classes away.
  <Streamdown
    prefix="unused"
    data-prose=""
    isAnimating={streaming}
    parseIncompleteMarkdown={false}
    parseMarkdownIntoBlocksFn={streaming ? growingPieces : pieces}
    controls={false}
    linkSafety={ASK_BEFORE_LINKS}
    components={elements}
    remarkPlugins={REMARK}
    rehypePlugins={REHYPE}
    remarkRehypeOptions={TO_HTML}
  >
    {text}
  </Streamdown>
));

type PlacedChartProps = Placeholder & Pick<MarkdownProps, "lookUp">;

/** The chart that a placeholder stands for, or the placeholder if there is none. */
function PlacedChart({ raw, toolCallId, title, inline, lookUp }: PlacedChartProps) {
  const given = toolCallId === undefined ? undefined : lookUp?.(toolCallId);
  const value = toolCallId === undefined ? raw : given?.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `raw` says what `inline` is, and stays
  const chart = useMemo(
    () => readChart(toolCallId === undefined ? inline : value),
    [toolCallId, value],
  );
  if (!chart) return <p>{raw}</p>;
  return <Chart chart={{ ...chart, title: title || chart.title || given?.title }} />;
}
