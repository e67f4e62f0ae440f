import { ArrowDownToLine, Code2 } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { CopyButton } from "@/content/CopyButton";
import { ScrollBox } from "@/content/ScrollBox";
import { type CodeFile, codeFiles } from "@/panes/codeFiles";
import type { PaneMessage } from "@/panes/wire";
import { Files } from "@/parts/Files";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Empty } from "@/ui/Empty";

const CodeView = lazy(() => import("@/panes/CodeView"));
const words = strings.panes;

interface CodePaneProps {
  messages: PaneMessage[];
  /** The run is active. */
  live: boolean;
}

/** The code of a run: the latest, until the user selects a file. */
export function CodePane({ messages, live }: CodePaneProps) {
  const [chosen, setChosen] = useState<string>();
  const files = useMemo(() => codeFiles(messages), [messages]);
  const newest = files.at(-1);
  const file = files.find(({ id }) => id === chosen) ?? newest;
  if (!file) return <Empty icon={<Code2 />} {...words.noCode[live ? "live" : "over"]} />;
  const follow = live && file !== newest ? () => setChosen(undefined) : undefined;
  return (
    <>
      <FileList files={files} shown={file} onChoose={setChosen} />
      <div className="flex min-h-10 shrink-0 items-center gap-2 border-b bg-ground-2 px-3 text-block text-ink-2">
        <span className="min-w-0 truncate">{aboutOf(file)}</span>
        {follow && (
          <Button kind="quiet" onClick={follow} className="ms-auto shrink-0">
            <ArrowDownToLine aria-hidden className="size-4" />
            {words.follow}
          </Button>
        )}
        <CopyButton
          text={() => file.code}
          label={words.copyCode}
          className={follow ? "" : "ms-auto"}
        />
      </div>
      <Suspense fallback={<div className="flex-1" />}>
        <CodeView
          key={file.id}
          code={file.code.replace(/\n$/, "")}
          language={file.language}
          label={strings.content.codeIn(file.language)}
        />
      </Suspense>
      <Outcome file={file} />
    </>
  );
}

const linesOf = (code: string) => code.replace(/\n$/, "").split("\n").length;

const aboutOf = ({ language, code, isCopy, isPending }: CodeFile) =>
  [
    language ?? strings.content.plainText,
    words.lines(linesOf(code)),
    isCopy && words.copyOf,
    isPending && words.writing,
  ]
    .filter(Boolean)
    .join(" · ");

interface FileListProps {
  files: CodeFile[];
  shown: CodeFile;
  onChoose: (id: string) => void;
}

/** The list of files, step by step. */
function FileList({ files, shown, onChoose }: FileListProps) {
  const row = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: reset when another file is shown
  useEffect(() => {
    row.current?.scrollIntoView({ block: "nearest" });
  }, [shown.id]);
  return (
    <nav aria-label={words.files} className="max-h-40 shrink-0 overflow-y-auto border-b p-1">
      <ul>
        {files.map((file, place) => (
          <li key={file.id}>
            <button
              type="button"
              ref={file === shown ? row : undefined}
              aria-current={file === shown ? "true" : undefined}
              onClick={() => onChoose(file.id)}
              className={classes(
                "flex min-h-8 w-full items-center gap-2 rounded-small px-2 text-start text-block hover:bg-ground-3 max-md:min-h-11",
                "focus-visible:outline-offset-[-2px]",
                file === shown && "bg-ground-3 font-medium",
              )}
            >
              <span className="w-14 shrink-0 text-ink-2 tabular-nums">
                {file.step === undefined ? `${place + 1}` : words.step(file.step)}
              </span>
              <span className="min-w-0 flex-1 truncate font-mono text-mono">
                {firstWords(file)}
              </span>
              {file.isCopy && <Mark>{words.copyOf}</Mark>}
              {file.isPending && <Mark>{words.writing}</Mark>}
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The first line of the code, which is more informative than the tool's name. */
const firstWords = ({ code, toolName }: CodeFile) =>
  code.trimStart().split("\n", 1)[0] || toolName || "…";

const Mark = ({ children }: { children: string }) => (
  <span className="shrink-0 rounded-full border px-2 text-label text-ink-2">{children}</span>
);

/** The return value and the created files. */
function Outcome({ file: { returned, files } }: { file: CodeFile }) {
  if (!returned.length && !files.length) return null;
  return (
    <div className="flex max-h-[40%] shrink-0 flex-col gap-2 overflow-y-auto border-t bg-ground-2 p-3">
      {returned.map((value, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: values are only appended
        <div key={place} className="text-block">
          <p className="text-label font-medium tracking-wide text-ink-2 uppercase">
            {words.returned}
          </p>
          <ScrollBox
            as="pre"
            label={words.returned}
            maxHeight={160}
            className="overflow-auto font-mono text-mono break-words whitespace-pre-wrap"
          >
            {value}
          </ScrollBox>
        </div>
      ))}
      {files.length > 0 && <Files block={{ kind: "files", key: "files", files }} />}
    </div>
  );
}
