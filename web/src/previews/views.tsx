import { type ReactNode, useMemo } from "react";
import { Code } from "@/content/Code";
import { Markdown } from "@/content/Markdown";
import { ScrollBox } from "@/content/ScrollBox";
import { MOST_ROWS, readTable } from "@/previews/csv";
import { extensionIn } from "@/previews/kinds";
import { useObjectUrl } from "@/previews/useBytes";
import type { PreviewedFile } from "@/state/preview";
import { strings } from "@/strings";

const words = strings.previews;

export interface ViewProps {
  file: PreviewedFile;
  bytes: Uint8Array<ArrayBuffer>;
  text: string;
}

export const MarkdownView = ({ text }: ViewProps) => (
  <Padded>
    <Markdown text={text} />
  </Padded>
);

/**
 * A page of an agent, without scripts and without a network: the frame has no origin, and its policy comes
 * on top of ours, which it inherits.
 */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:";

export const HtmlView = ({ file, text }: ViewProps) => (
  <div className="flex min-h-0 flex-1 flex-col">
    <p className="border-b bg-ground-2 px-3 py-1.5 text-mono text-ink-2">{words.htmlNote}</p>
    <iframe
      title={words.pageOf(file.name)}
      sandbox=""
      referrerPolicy="no-referrer"
      srcDoc={`<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}">${text}`}
      className="min-h-0 w-full flex-1 bg-[#ffffff] [color-scheme:light]"
    />
  </div>
);

export function TableView({ text }: ViewProps) {
  const { rows, isCut } = useMemo(() => readTable(text), [text]);
  const [head = [], ...body] = rows;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {isCut && <p className="border-b px-3 py-1.5 text-mono text-ink-2">{words.cut(MOST_ROWS)}</p>}
      <ScrollBox label={words.table} className="min-h-0 flex-1 overflow-auto">
        <table className="min-w-full border-collapse text-block tabular-nums">
          <thead>
            <tr>{head.map((cell, place) => headCell(cell, place))}</tr>
          </thead>
          <tbody>
            {body.map((row, number) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a file's rows do not move
              <tr key={number} className="odd:bg-ground-2">
                {head.map((_, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: nor do its columns
                  <td key={place} className="max-w-80 px-3 py-1.5 align-top break-words" dir="auto">
                    {row[place]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </div>
  );
}

const HEAD = "sticky top-0 bg-ground-3 px-3 py-2 text-start font-medium whitespace-nowrap";

/** A column without a name has no head. */
const headCell = (cell: string, place: number) =>
  cell.trim() ? (
    <th key={place} scope="col" dir="auto" className={HEAD}>
      {cell}
    </th>
  ) : (
    <td key={place} className={HEAD} />
  );

export function ImageView({ file, bytes }: ViewProps) {
  const url = useObjectUrl(bytes, file.mediaType || "image/png");
  return (
    <ScrollBox label={file.name} className="grid min-h-0 flex-1 overflow-auto p-4">
      {url && <img src={url} alt={file.name} className="m-auto max-w-full object-contain" />}
    </ScrollBox>
  );
}

export function PdfView({ file, bytes }: ViewProps) {
  const url = useObjectUrl(bytes, "application/pdf");
  if (!url) return null;
  return <iframe title={words.pageOf(file.name)} src={url} className="min-h-0 w-full flex-1" />;
}

export const CodeFileView = ({ file, text }: ViewProps) => (
  <Padded>
    <Code
      code={text.replace(/\n$/, "")}
      language={extensionIn(file.name)}
      label={file.name}
      numbered
      tools
    />
  </Padded>
);

export const TextView = ({ file, text }: ViewProps) => (
  <Padded>
    <Code code={text} label={file.name} wrap tools />
  </Padded>
);

const Padded = ({ children }: { children: ReactNode }) => (
  <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
);
