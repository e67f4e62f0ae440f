import { Download } from "lucide-react";
import { useState } from "react";
import { shownName } from "@/previews/kinds";
import { saveFile } from "@/previews/saveFile";
import type { PreviewedFile } from "@/state/preview";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";

const words = strings.previews;

interface DownloadButtonProps {
  file: PreviewedFile;
  /** With its word, not only a sign. */
  isLarge?: boolean;
}

/** Downloads a file, and says so if that fails. */
export function DownloadButton({ file, isLarge = false }: DownloadButtonProps) {
  const [hasFailed, setFailed] = useState(false);
  const save = () => {
    setFailed(false);
    saveFile(file).catch(() => setFailed(true));
  };
  return (
    <>
      {hasFailed && (
        <span role="alert" className="text-mono text-bad">
          {words.notDownloaded}
        </span>
      )}
      {isLarge ? (
        <Button onClick={save}>
          <Download aria-hidden className="size-4" />
          {words.download}
        </Button>
      ) : (
        <IconButton label={words.downloadOf(shownName(file.name))} onClick={save}>
          <Download aria-hidden />
        </IconButton>
      )}
    </>
  );
}
