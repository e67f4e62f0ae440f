import { Download, ExternalLink, File, FileText } from "lucide-react";
import type { ReactNode } from "react";
import { imageSource, linkTarget } from "@/content/urls";
import type { FileItem, FilesBlock } from "@/parts/blocks";
import { Picture } from "@/parts/Picture";
import { access, useHasPanel } from "@/state/access";
import { preview } from "@/state/preview";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.parts;

/** Files of a message: images as previews, others as downloads. */
export function Files({ block: { files } }: { block: FilesBlock }) {
  const pictures = files.filter((file) => pictureOf(file) !== undefined);
  const others = files.filter((file) => pictureOf(file) === undefined);
  return (
    <div className="space-y-2">
      {pictures.length > 0 && (
        <ul className="flex flex-wrap gap-2">
          {pictures.map((file, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: files are only appended
            <li key={place}>
              <Picture src={pictureOf(file) ?? ""} name={file.name} />
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <ul className="space-y-2">
          {others.map((file, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: files are only appended
            <li key={place}>
              <Row file={file} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Images that load without a click: inline bytes or this server's. Other hosts could track readers. */
const pictureOf = ({ url, mediaType }: FileItem): string | undefined =>
  url !== undefined && mediaType.startsWith("image") ? imageSource(url) : undefined;

const ROW =
  "flex min-h-11 items-center gap-3 rounded-block border bg-ground px-3 py-1.5 text-block";

function Row({ file }: { file: FileItem }) {
  const href = hrefOf(file);
  const { readOnly } = useStore(access);
  const hasPanel = useHasPanel();
  if (!href)
    return (
      <div className={ROW}>
        <About
          file={file}
          note={readOnly ? strings.sharing.fileNotShared : words.unreachableFile}
        />
      </div>
    );
  const isHere = !/^https?:/i.test(href) || new URL(href).origin === location.origin;
  return isHere ? (
    <Here file={file} href={href} canPreview={hasPanel} />
  ) : (
    <Elsewhere file={file} href={href} />
  );
}

interface LinkedFile {
  file: FileItem;
  href: string;
}

/** A click anywhere shows the file in the panel; its name stays text, which can be found and read. */
const Here = ({ file, href, canPreview }: LinkedFile & { canPreview: boolean }) => (
  <div className={classes(ROW, "relative pe-1", canPreview && "hover:bg-ground-3")}>
    {canPreview && (
      <button
        type="button"
        aria-label={strings.previews.preview(file.name)}
        onClick={() => preview.open({ ...file, url: href })}
        className="absolute inset-0 rounded-block"
      />
    )}
    <About file={file} />
    <a
      href={href}
      download={file.name}
      aria-label={strings.previews.downloadOf(file.name)}
      title={strings.previews.downloadOf(file.name)}
      className="relative inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-ink-2 hover:text-ink max-md:size-11"
    >
      <Download aria-hidden className="size-4" />
    </a>
  </div>
);

const Elsewhere = ({ file, href }: LinkedFile) => (
  <a href={href} target="_blank" rel="noopener noreferrer" className={`${ROW} hover:bg-ground-3`}>
    <About
      file={file}
      after={
        <>
          <span className="sr-only">{words.openFile}</span>
          <ExternalLink aria-hidden className="size-4 shrink-0 text-ink-2" />
        </>
      }
    />
  </a>
);

interface AboutProps {
  file: FileItem;
  note?: string;
  after?: ReactNode;
}

function About({ file: { name, mediaType, size }, note, after }: AboutProps) {
  const Icon = mediaType.startsWith("text") ? FileText : File;
  const about = [mediaType, size === undefined ? undefined : bytes(size), note];
  return (
    <>
      <Icon aria-hidden className="size-4 shrink-0 text-ink-2" />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-label text-ink-2 tabular-nums">
          {about.filter(Boolean).join(" · ")}
        </span>
      </span>
      {after}
    </>
  );
}

/** Allowed URLs of links; inline bytes are only downloaded, never opened as a page. */
function hrefOf({ url }: FileItem): string | undefined {
  if (url === undefined) return undefined;
  return /^(data|blob):/i.test(url) ? url : linkTarget(url);
}

const UNITS = ["B", "kB", "MB", "GB"];

export function bytes(size: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(size, 1)) / 3));
  const count = size / 1000 ** unit;
  return `${count.toFixed(unit === 0 || count >= 100 ? 0 : 1)} ${UNITS[unit]}`;
}
