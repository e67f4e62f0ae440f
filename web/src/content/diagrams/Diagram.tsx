import { Code2, Download, Image, Maximize2 } from "lucide-react";
import { memo, useState } from "react";
import { Code } from "@/content/Code";
import { CopyButton } from "@/content/CopyButton";
import { addressOf, type Drawing } from "@/content/diagrams/svg";
import { type Outcome, useDrawing } from "@/content/diagrams/useDrawing";
import { Enlarged } from "@/content/Enlarged";
import "@/content/rich.css";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { save } from "@/ui/save";

const words = strings.rich;

/** A Mermaid diagram. While it is being written, a place of a steady height says so. */
export const Diagram = memo(({ code, isUnfinished }: { code: string; isUnfinished: boolean }) =>
  isUnfinished ? <Place /> : <Complete code={code} />,
);

function Complete({ code }: { code: string }) {
  const outcome = useDrawing(code);
  const [isSource, setSource] = useState(false);
  if (outcome.state === "drawing") return <Place />;
  if (outcome.state === "failed") return <Failed code={code} why={outcome.why} />;
  const name = words.diagramOf(words.diagrams[outcome.kind], outcome.title);
  const { drawing } = outcome;
  return (
    <figure className="diagram">
      <div className="diagram-head">
        <span className="min-w-0 flex-1 truncate">{words.diagrams[outcome.kind]}</span>
        <IconButton
          label={isSource ? words.showDiagram : words.showSource}
          onClick={() => setSource(!isSource)}
        >
          {isSource ? <Image aria-hidden /> : <Code2 aria-hidden />}
        </IconButton>
        <CopyButton text={() => code} label={words.copySource} />
        <IconButton
          label={words.downloadSvg}
          onClick={() => save("diagram.svg", "image/svg+xml", drawing.svg)}
        >
          <Download aria-hidden />
        </IconButton>
        <Enlarged label={words.enlargeDiagram} title={name} icon={<Maximize2 aria-hidden />}>
          <Picture drawing={drawing} name={name} isLarge />
        </Enlarged>
      </div>
      {isSource ? (
        <Code code={code} language="mermaid" bare label={words.sourceOf(name)} />
      ) : (
        <div className="diagram-body">
          <Picture drawing={drawing} name={name} />
        </div>
      )}
    </figure>
  );
}

interface PictureProps {
  drawing: Drawing;
  name: string;
  isLarge?: boolean;
}

const Picture = ({ drawing: { svg, width, height }, name, isLarge }: PictureProps) => (
  <img
    src={addressOf(svg)}
    alt={name}
    width={width}
    height={height}
    className={isLarge ? "diagram-large" : undefined}
  />
);

const Place = () => (
  <div className="diagram diagram-place" role="status">
    {words.drawing}
  </div>
);

function Failed({ code, why }: { code: string } & Pick<Outcome & { state: "failed" }, "why">) {
  return (
    <div className="space-y-1.5">
      <Code code={code} language="mermaid" />
      <p className="text-mono text-ink-2">{words.notDrawn[why]}</p>
    </div>
  );
}
