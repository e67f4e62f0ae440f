import { memo, useId, useMemo, useState } from "react";
import { defaultRemarkPlugins, Streamdown, type StreamdownProps } from "streamdown";
import { Chart } from "@/content/Chart";
import { Code } from "@/content/Code";
import { readChart } from "@/content/chartData";
import { type Source, withMarks } from "@/content/citations";
import { elements, IdPrefix } from "@/content/elements";
import { withFormulas } from "@/content/formulas";
import { evenHeadings } from "@/content/headings";
import { SourcesAround } from "@/content/Marks";
import { growingPieces, pieces } from "@/content/pieces";
import "@/content/markdown.css";
import "@/content/rich.css";
import { type Placeholder, segments } from "@/content/placeholders";
import { htmlAsText, safeTree } from "@/content/safe";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface MarkdownProps {
  text: string;
  /** Streaming: unfinished syntax is shown as if it were closed. */
  streaming?: boolean;
  /** The cited sources, for the citation marks. */
  sources?: readonly Source[];
  /** Tool results by call id: charts in the text refer to them. */
  lookUp?: (toolCallId: string) => Given | undefined;
}

export interface Given {
  value: unknown;
  /** The default title of charts. */
  title?: string;
}

const NO_SOURCES: readonly Source[] = [];
/** Maximum characters rendered as Markdown: longer texts would slow the page down with every delta. */
const MOST = 300_000;
const BEGINNING = 100_000;

/** An agent's text as Markdown, limited to the elements in safe.ts. */
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

/** The rest of a very long text, as plain text, once it is expanded. */
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

// Streamdown caches one processor per page, keyed by the plugins' names: they must be the same for all
// texts. Without rehype-raw no HTML is ever parsed.
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

/** Text in blocks; only changed blocks render again. */
const Prose = memo(({ text, streaming }: { text: string; streaming: boolean }) => {
  const prepared = useMemo(() => evenHeadings(withFormulas(text, streaming)), [text, streaming]);
  return (
    // An unknown class prefix disables streamdown's own styles.
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
      {prepared}
    </Streamdown>
  );
});

type PlacedChartProps = Placeholder & Pick<MarkdownProps, "lookUp">;

/** The chart of a placeholder, or the placeholder's text if there is none. */
function PlacedChart({ raw, toolCallId, title, inline, lookUp }: PlacedChartProps) {
  const given = toolCallId === undefined ? undefined : lookUp?.(toolCallId);
  const value = toolCallId === undefined ? raw : given?.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `raw` identifies `inline` and is stable
  const chart = useMemo(
    () => readChart(toolCallId === undefined ? inline : value),
    [toolCallId, value],
  );
  if (!chart) return <p>{raw}</p>;
  return <Chart chart={{ ...chart, title: title || chart.title || given?.title }} />;
}
