import { Download } from "lucide-react";
import { useState } from "react";
import { saveEvents, saveRaw } from "@/inspector/download";
import type { RunSource } from "@/inspector/source";
import type { InspectedRun } from "@/inspector/useRun";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";

const words = strings.inspector;

/** Downloads of a run: its log, or the raw agent output. */
export function Downloads({ source, run }: { source: RunSource; run: InspectedRun }) {
  const [failed, setFailed] = useState(false);
  const onEvents = () => {
    setFailed(false);
    saveEvents(source).catch(() => setFailed(true));
  };
  const trigger = (
    <IconButton label={words.download} className="size-8! max-md:size-11!">
      <Download aria-hidden />
    </IconButton>
  );
  return (
    <>
      {failed && (
        <p role="alert" className="text-mono text-bad">
          {words.downloadFailed}
        </p>
      )}
      <Menu trigger={trigger}>
        {source.events && <MenuItem onSelect={onEvents}>{words.downloadEvents}</MenuItem>}
        {run.entries.some(({ lines }) => lines.length > 0) && (
          <MenuItem onSelect={() => saveRaw(source.id, run.entries)}>
            {words.downloadLines}
          </MenuItem>
        )}
      </Menu>
    </>
  );
}
