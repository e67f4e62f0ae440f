import { memo, useLayoutEffect, useRef, useState } from "react";
import { Code } from "@/content/Code";
import { texOf } from "@/content/formulas";
import { type Loadable, loadable } from "@/content/loadable";
import { ScrollBox } from "@/content/ScrollBox";
import { strings } from "@/strings";

type Draw = (tex: string, displayMode: boolean, into: HTMLElement) => boolean;
export const drawer: Loadable<Draw> = loadable(async () => (await import("@/content/katex")).draw);

const words = strings.rich;

/** A formula with its delimiters. */
export const Formula = memo(({ source, isDisplay }: { source: string; isDisplay: boolean }) => {
  const draw = drawer.use();
  const tex = texOf(source);
  if (!draw) return <Source source={source} isDisplay={isDisplay} />;
  const drawn = <Drawn key={source} {...{ tex, source, isDisplay, draw }} />;
  if (!isDisplay) return drawn;
  return (
    <ScrollBox as="span" label={words.formula} className="formula-box">
      {drawn}
    </ScrollBox>
  );
});

interface DrawnProps {
  tex: string;
  source: string;
  isDisplay: boolean;
  draw: Draw;
}

function Drawn({ tex, source, isDisplay, draw }: DrawnProps) {
  const place = useRef<HTMLSpanElement>(null);
  const [isBroken, setBroken] = useState(false);
  // Before it is painted, so that no source is seen first.
  useLayoutEffect(() => {
    if (place.current) setBroken(!draw(tex, isDisplay, place.current));
  }, [tex, isDisplay, draw]);
  if (isBroken) return <Broken source={source} isDisplay={isDisplay} />;
  return <span ref={place} />;
}

/** The formula's source, until KaTeX has loaded. */
const Source = ({ source, isDisplay }: Pick<DrawnProps, "source" | "isDisplay">) => (
  <code className={isDisplay ? "formula-source font-mono" : "code-word font-mono"}>
    {texOf(source)}
  </code>
);

function Broken({ source, isDisplay }: Pick<DrawnProps, "source" | "isDisplay">) {
  if (!isDisplay)
    return (
      <code className="code-word font-mono" title={words.brokenFormula}>
        {source}
        <span className="sr-only"> {words.brokenFormula}</span>
      </code>
    );
  return (
    <span className="formula-source">
      <code className="font-mono">{source}</code>
      <span className="formula-note">{words.brokenFormula}</span>
    </span>
  );
}

/** Keeps a place for a formula that is being written. */
export const PendingFormula = () => (
  <span className="formula-pending">
    <span className="sr-only">{words.pendingFormula}</span>
  </span>
);

/** A code block of the language `math`. */
export const FormulaBlock = ({ code, isUnfinished }: { code: string; isUnfinished: boolean }) =>
  isUnfinished ? (
    <PendingFormula />
  ) : code.length > 4_000 ? (
    <Code code={code} language="tex" />
  ) : (
    <Formula source={`$$${code}$$`} isDisplay />
  );
