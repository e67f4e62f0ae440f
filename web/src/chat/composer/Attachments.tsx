import { CircleAlert, FileText, RotateCw, X } from "lucide-react";
import { imageSource } from "@/content/urls";
import { bytes } from "@/parts/Files";
import type { Attachment } from "@/state/attachments";
import { type Upload, uploads, useUploads } from "@/state/uploads";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { toComposer } from "@/ui/focus";

const words = strings.composer;

interface AttachmentsProps {
  /** The key of the draft. */
  draft: string;
  files: Attachment[];
}

/** The files of a message that is being written: what they are, how far they are, what went wrong. */
export function Attachments({ draft, files }: AttachmentsProps) {
  const known = useUploads();
  if (files.length === 0) return null;
  return (
    <ul
      aria-label={words.attachments}
      className="flex max-h-56 flex-wrap gap-2 overflow-y-auto px-3 pt-3"
    >
      {files.map((file) => (
        <li key={file.id} className="min-w-0 max-w-full">
          <Chip
            file={file}
            upload={known[file.id]}
            onRemove={() => {
              uploads.remove(draft, file.id);
              toComposer(); // the clicked button disappears
            }}
          />
        </li>
      ))}
    </ul>
  );
}

interface ChipProps {
  file: Attachment;
  upload: Upload | undefined;
  onRemove: () => void;
}

function Chip({ file, upload, onRemove }: ChipProps) {
  const problem = problemOf(file, upload);
  return (
    <div
      className={classes(
        "relative flex items-center gap-2 overflow-hidden rounded-block border py-1 ps-1.5 pe-0.5",
        problem ? "border-bad-line bg-bad-ground" : "bg-ground-2",
      )}
    >
      <Preview file={file} upload={upload} hasFailed={problem !== undefined} />
      <div className="min-w-0 max-w-64 text-mono leading-snug">
        <span className="block truncate font-medium" title={file.name}>
          {file.name}
        </span>
        <span
          role={problem ? "alert" : undefined}
          className={classes("block", problem ? "text-bad" : "truncate text-ink-2 tabular-nums")}
        >
          {problem ?? lineOf(file, upload)}
        </span>
      </div>
      {upload?.canRetry && problem && (
        <IconButton label={words.retry(file.name)} onClick={() => uploads.retry(file.id)}>
          <RotateCw aria-hidden />
        </IconButton>
      )}
      <IconButton label={words.remove(file.name)} onClick={onRemove}>
        <X aria-hidden />
      </IconButton>
      {!problem && !file.part && <Progress value={upload?.progress ?? 0} name={file.name} />}
    </div>
  );
}

/** Why a file is not stored; undefined while it may still be. */
export function problemOf(file: Attachment, upload: Upload | undefined): string | undefined {
  if (file.part) return undefined;
  return upload ? upload.problem : words.problems.cutOff;
}

function lineOf({ size, part }: Attachment, upload: Upload | undefined): string {
  if (!part) return words.uploading(percent(upload?.progress ?? 0));
  return upload?.note ?? bytes(size);
}

const percent = (progress: number) => Math.floor(progress * 100);

interface PreviewProps {
  file: Attachment;
  upload: Upload | undefined;
  hasFailed: boolean;
}

function Preview({ file, upload, hasFailed }: PreviewProps) {
  const source = upload?.preview ?? pictureOf(file);
  const Icon = hasFailed ? CircleAlert : FileText;
  if (source && !hasFailed)
    return <img src={source} alt="" className="size-9 shrink-0 rounded-small object-cover" />;
  return (
    <span className="flex size-9 shrink-0 items-center justify-center rounded-small bg-ground-3">
      <Icon aria-hidden className={classes("size-4", hasFailed ? "text-bad" : "text-ink-2")} />
    </span>
  );
}

/** A stored picture: after a reload the page has its bytes no more. */
const pictureOf = ({ part }: Attachment) =>
  part && /^image\/(?!svg)/.test(part.mediaType) ? imageSource(part.url) : undefined;

const Progress = ({ value, name }: { value: number; name: string }) => (
  <span
    role="progressbar"
    aria-label={name}
    aria-valuenow={percent(value)}
    aria-valuemin={0}
    aria-valuemax={100}
    className="absolute inset-x-0 bottom-0 h-0.5 bg-line"
  >
    <span className="block h-full bg-accent" style={{ width: `${percent(value)}%` }} />
  </span>
);
