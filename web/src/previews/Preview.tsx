import { ArrowLeft, Code2, Eye, RotateCw } from "lucide-react";
import { type ComponentType, useEffect, useMemo, useRef, useState } from "react";
import { textOf } from "@/previews/bytes";
import { DownloadButton } from "@/previews/DownloadButton";
import { Facts } from "@/previews/Facts";
import { kindOf, type PreviewKind, shownName } from "@/previews/kinds";
import { type Loaded, useBytes } from "@/previews/useBytes";
import {
  CodeFileView,
  HtmlView,
  ImageView,
  MarkdownView,
  PdfView,
  TableView,
  TextView,
  type ViewProps,
} from "@/previews/views";
import type { PreviewedFile } from "@/state/preview";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

const words = strings.previews;

const VIEWS: Record<Exclude<PreviewKind, "none">, ComponentType<ViewProps>> = {
  markdown: MarkdownView,
  html: HtmlView,
  table: TableView,
  image: ImageView,
  pdf: PdfView,
  code: CodeFileView,
  text: TextView,
};
/** Shown as what they are, or as their text. */
const HAS_SOURCE = new Set<PreviewKind>(["markdown", "html", "table"]);
const IS_BINARY = new Set<PreviewKind>(["image", "pdf"]);

/** One file in the panel. */
export function Preview({ file, onBack }: { file: PreviewedFile; onBack: () => void }) {
  const [again, setAgain] = useState(0);
  const [asSource, setSource] = useState(false);
  const loaded = useBytes(file.url, again);
  const kind = kindOf(file);
  const title = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another file was opened
  useEffect(() => title.current?.focus(), [file.url]);
  return (
    <section aria-label={words.previewOf(file.name)} className="flex min-h-0 flex-1 flex-col">
      <div className="flex shrink-0 items-center gap-1 border-b px-2 py-1">
        <IconButton label={words.back} onClick={onBack}>
          <ArrowLeft aria-hidden className="rtl:rotate-180" />
        </IconButton>
        <h2
          ref={title}
          tabIndex={-1}
          className="min-w-0 flex-1 truncate text-block font-medium outline-none"
          title={shownName(file.name)}
        >
          <bdi>{shownName(file.name)}</bdi>
        </h2>
        {HAS_SOURCE.has(kind) && (
          <IconButton
            label={asSource ? words.showRendered : words.showSource}
            onClick={() => setSource(!asSource)}
          >
            {asSource ? <Eye aria-hidden /> : <Code2 aria-hidden />}
          </IconButton>
        )}
        <IconButton label={words.reload} onClick={() => setAgain(again + 1)}>
          <RotateCw aria-hidden />
        </IconButton>
        <DownloadButton file={file} />
      </div>
      <Body key={`${again} ${file.url}`} {...{ file, kind, loaded, asSource }} />
    </section>
  );
}

interface BodyProps {
  file: PreviewedFile;
  kind: PreviewKind;
  loaded: Loaded;
  asSource: boolean;
}

function Body({ file, kind, loaded, asSource }: BodyProps) {
  const bytes = loaded.state === "there" ? loaded.bytes : undefined;
  const text = useMemo(() => (bytes ? textOf(bytes) : undefined), [bytes]);
  if (loaded.state === "loading")
    return (
      <p role="status" className="p-4 text-block text-ink-2">
        {words.loading}
      </p>
    );
  if (!bytes) return <Facts file={file} line={words.unread[loaded.state as "failed" | "large"]} />;
  const shown = viewFor(kind, bytes, text, asSource);
  if (!shown) return <Facts file={file} line={words.noPreview} />;
  const View = VIEWS[shown];
  return <View file={file} bytes={bytes} text={text ?? ""} />;
}

const LONGEST_TEXT = 2_000_000;
const PDF = [0x25, 0x50, 0x44, 0x46];

/** The view that the bytes allow. */
function viewFor(
  kind: PreviewKind,
  bytes: Uint8Array,
  text: string | undefined,
  asSource: boolean,
): Exclude<PreviewKind, "none"> | undefined {
  if (kind === "image") return kind;
  if (kind === "pdf") {
    const isPdf = PDF.every((byte, place) => bytes[place] === byte);
    return isPdf && navigator.pdfViewerEnabled ? kind : undefined;
  }
  if (text === undefined || text.length > LONGEST_TEXT || IS_BINARY.has(kind)) return undefined;
  if (asSource) return "code";
  return kind === "none" ? "text" : kind;
}
