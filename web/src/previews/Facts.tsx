import { File } from "lucide-react";
import { bytes } from "@/parts/Files";
import { DownloadButton } from "@/previews/DownloadButton";
import { shownName } from "@/previews/kinds";
import type { PreviewedFile } from "@/state/preview";
import { strings } from "@/strings";
import { Empty } from "@/ui/Empty";

const words = strings.previews;

/** What is known of a file that cannot be shown. */
export function Facts({ file, line }: { file: PreviewedFile; line: string }) {
  const facts = [
    [words.type, file.mediaType || words.unknownType],
    [words.size, file.size === undefined ? undefined : bytes(file.size)],
    [words.changed, file.modifiedAt === undefined ? undefined : words.time(file.modifiedAt)],
  ].filter((fact): fact is [string, string] => fact[1] !== undefined);
  return (
    <Empty icon={<File aria-hidden />} title={shownName(file.name)} line={line}>
      <dl className="grid grid-cols-[auto_auto] gap-x-4 gap-y-1 text-start text-block">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink-2">{name}</dt>
            <dd className="break-all">{value}</dd>
          </div>
        ))}
      </dl>
      <DownloadButton file={file} isLarge />
    </Empty>
  );
}
