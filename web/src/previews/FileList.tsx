import { FileCode2, Files, FileText, FolderX, Image, RotateCw, Table2 } from "lucide-react";
import { useEffect, useRef } from "react";
import type { MadeFile } from "@/api";
import { bytes } from "@/parts/Files";
import { DownloadButton } from "@/previews/DownloadButton";
import { kindOf, type PreviewKind, shownName } from "@/previews/kinds";
import { madeFile } from "@/previews/madeFile";
import { useMadeFiles } from "@/previews/useMadeFiles";
import { type PreviewedFile, preview } from "@/state/preview";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { Empty } from "@/ui/Empty";

const words = strings.previews;

const ICONS: Partial<Record<PreviewKind, typeof Files>> = {
  image: Image,
  table: Table2,
  code: FileCode2,
  html: FileCode2,
};

interface FileListProps {
  chatId: string;
  isWorking: boolean;
  /** The file that was shown before: the focus returns to it. */
  left?: PreviewedFile;
}

/** The files that agents made in a chat. */
export function FileList({ chatId, isWorking, left }: FileListProps) {
  const { found, isFailed, reload } = useMadeFiles(chatId, isWorking);
  const box = useFocusOn(left, found !== undefined);
  if (isFailed && !found)
    return (
      <Empty icon={<FolderX aria-hidden />} title={words.notListed} line={words.notListedLine}>
        <Button onClick={reload}>{strings.retry}</Button>
      </Empty>
    );
  if (!found)
    return (
      <p role="status" className="p-4 text-block text-ink-2">
        {words.loading}
      </p>
    );
  if (!found.available)
    return (
      <Empty icon={<FolderX aria-hidden />} title={words.elsewhere} line={words.elsewhereLine} />
    );
  if (found.files.length === 0)
    return <Empty icon={<Files aria-hidden />} title={words.noFiles} line={words.noFilesLine} />;
  return (
    <div ref={box} className="flex min-h-0 flex-1 flex-col">
      <div className="flex shrink-0 items-center justify-between gap-2 border-b ps-4 pe-2 py-1">
        <h2 tabIndex={-1} className="text-block text-ink-2 outline-none">
          {words.count(found.files.length)}
        </h2>
        <IconButton label={words.refresh} onClick={reload}>
          <RotateCw aria-hidden />
        </IconButton>
      </div>
      <ul className="min-h-0 flex-1 overflow-y-auto p-2">
        {found.files.map((file) => (
          <Row key={file.path} file={file} chatId={chatId} />
        ))}
      </ul>
      {!found.complete && (
        <p className="border-t px-4 py-2 text-mono text-ink-2">{words.more(found.files.length)}</p>
      )}
    </div>
  );
}

/** Focuses the row of a file, or the heading if it has none, once the list is there. */
function useFocusOn(file: PreviewedFile | undefined, isThere: boolean) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!file || !isThere) return;
    const rows = [...(box.current?.querySelectorAll<HTMLElement>("[data-path]") ?? [])];
    const row = rows.find(({ dataset }) => dataset.path === file.name);
    (row ?? box.current?.querySelector("h2"))?.focus();
  }, [file, isThere]);
  return box;
}

function Row({ file, chatId }: { file: MadeFile; chatId: string }) {
  const { path, size, modifiedAt } = file;
  const shown = madeFile(chatId, file);
  const Icon = ICONS[kindOf(shown)] ?? FileText;
  return (
    <li className="flex items-center rounded-lg hover:bg-ground-3">
      <button
        type="button"
        data-path={path}
        onClick={() => preview.open(shown)}
        className="flex min-h-11 min-w-0 flex-1 items-center gap-3 rounded-lg px-2 py-1.5 text-start"
      >
        <Icon aria-hidden className="size-4 shrink-0 text-ink-2" />
        <span className="min-w-0 flex-1">
          <bdi className="block truncate text-block font-medium">{shownName(path)}</bdi>
          <span className="block truncate text-label text-ink-2 tabular-nums">
            {words.about(bytes(size), words.time(modifiedAt))}
          </span>
        </span>
      </button>
      <DownloadButton file={shown} />
    </li>
  );
}
