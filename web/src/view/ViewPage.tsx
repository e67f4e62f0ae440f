import { useCallback, useEffect, useRef, useState } from "react";
import { getViewedFile } from "@/api";
import { brand } from "@/brand";
import { failureMessage } from "@/failure";
import { strings } from "@/strings";
import { Notice } from "@/ui/Notice";
import { dropped } from "@/view/dropped";
import { Opened } from "@/view/Opened";
import { Recording } from "@/view/recording";
import { useDropping } from "@/view/useDropping";
import { Welcome } from "@/view/Welcome";

const words = strings.viewing;

/** `mobox view` opens the page with this fragment: the file is on the server's side. */
const LOCAL = "#local";

/** Shows a recording of any agent: dropped, chosen, or given to `mobox view`. */
export default function ViewPage() {
  const isLocal = location.hash === LOCAL;
  const [recording, setRecording] = useState<Recording>();
  const [problem, setProblem] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const open = useCallback((file: File) => {
    setProblem(undefined);
    setRecording(new Recording(file));
  }, []);
  useEffect(() => {
    document.title = `${recording?.file.name || words.title} · ${brand.name}`;
  }, [recording]);
  useEffect(() => {
    const waiting = dropped.take();
    if (waiting) open(waiting);
    else if (isLocal)
      getViewedFile()
        .then(open)
        .catch((error: unknown) => setProblem(failureMessage(error)));
  }, [isLocal, open]);
  const isOver = useDropping(open);
  const choose = () => field.current?.click();
  return (
    <div className="relative flex h-dvh overflow-hidden ps-[env(safe-area-inset-left)] pe-[env(safe-area-inset-right)]">
      <input
        ref={field}
        type="file"
        hidden
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          if (file) open(file);
          event.target.value = "";
        }}
      />
      {recording ? (
        <Opened
          key={recording.key}
          recording={recording}
          hasChats={!isLocal}
          onFramework={(framework) => setRecording(new Recording(recording.file, framework))}
          onChoose={choose}
        />
      ) : (
        <main className="flex min-w-0 flex-1 flex-col">
          {isLocal && !problem ? (
            <Notice title={words.reading} line="">
              {null}
            </Notice>
          ) : (
            <Welcome problem={problem} hasChats={!isLocal} onChoose={choose} />
          )}
        </main>
      )}
      {isOver && (
        <div
          aria-hidden
          className="pointer-events-none absolute inset-2 z-50 flex items-center justify-center rounded-large border-2 border-accent border-dashed bg-ground text-lg font-semibold opacity-95"
        >
          {words.drop}
        </div>
      )}
    </div>
  );
}
