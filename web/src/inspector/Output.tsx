import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type AttemptStderr, Refused } from "@/api";
import { visible } from "@/content/Json";
import type { Entry } from "@/inspector/entries";
import type { RunSource } from "@/inspector/source";
import { type StdoutRow, stdoutRows } from "@/inspector/stdoutRows";
import { useEnd } from "@/inspector/useEnd";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.inspector;

const Explained = ({ line, children }: { line: string; children: ReactNode }) => (
  <div className="flex min-h-0 flex-1 flex-col">
    <p className="border-b px-3 py-2 text-mono text-ink-2">{line}</p>
    {children}
  </div>
);

const Nothing = ({ children }: { children: string }) => (
  <p className="px-3 py-6 text-center text-block text-ink-2">{children}</p>
);

/** Raw stdout, line by line. */
export function Stdout({ entries, over }: { entries: readonly Entry[]; over: boolean }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const rows = useMemo(() => stdoutRows(entries, open), [entries, open]);
  const toggle = (n: number) => {
    const after = new Set(open);
    if (!after.delete(n)) after.add(n);
    setOpen(after);
  };
  return (
    <Explained line={words.stdoutLine}>
      {rows.length > 0 ? (
        <Lines rows={rows} live={!over} onToggle={toggle} />
      ) : (
        <Nothing>{over ? words.noStdout : words.noStdoutYet}</Nothing>
      )}
    </Explained>
  );
}

interface LinesProps {
  rows: readonly StdoutRow[];
  live: boolean;
  onToggle: (n: number) => void;
}

/** Virtualized: there may be many thousands of lines. */
function Lines({ rows, live, onToggle }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 26,
    overscan: 8,
    useFlushSync: false,
  });
  useEnd(box, rows.length, live, () => virtual.scrollToIndex(rows.length - 1, { align: "end" }));
  return (
    <section
      ref={box}
      aria-label={words.views.stdout}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
      tabIndex={0}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain focus-visible:outline-offset-[-2px]"
    >
      <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <div
                key={row.key}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute top-0 start-0 flex w-full gap-3 border-b px-3 py-1 font-mono text-mono leading-5"
                style={{ transform: `translateY(${start}px)` }}
              >
                <span className="w-9 shrink-0 text-end text-ink-2 select-none tabular-nums">
                  {row.line.n}
                </span>
                {row.folded > 1 ? (
                  <Folded row={row} onToggle={() => onToggle(row.line.n)} />
                ) : (
                  <Text text={row.line.line} />
                )}
              </div>
            )
          );
        })}
      </div>
    </section>
  );
}

/** The lines of consecutive deltas of one block: their text, and the lines themselves on click. */
const Folded = ({ row, onToggle }: { row: StdoutRow; onToggle: () => void }) => (
  <button
    type="button"
    aria-expanded={row.isOpen}
    onClick={onToggle}
    className="flex min-w-0 flex-1 items-baseline gap-2 text-start max-md:min-h-11"
  >
    <ChevronRight
      aria-hidden
      className={classes("size-3 shrink-0 self-center text-ink-2", row.isOpen && "rotate-90")}
    />
    <span className="shrink-0 rounded-small bg-ground-3 px-1 text-label text-ink-2">
      {words.lines(row.folded)}
    </span>
    <span className="min-w-0 truncate">{visible(row.text)}</span>
  </button>
);

/** Longer lines are cut until they are expanded. */
const MOST = 600;

function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const isCut = !whole && text.length > MOST * 1.2;
  return (
    <span className="min-w-0 flex-1 break-words whitespace-pre-wrap">
      {visible(isCut ? `${text.slice(0, MOST)}…` : text)}
      {isCut && (
        <button
          type="button"
          onClick={() => setWhole(true)}
          className="ms-2 font-sans text-accent underline"
        >
          {strings.content.showAll(text.length)}
        </button>
      )}
    </span>
  );
}

/** The agent's stderr: loaded every second while the run is going on, and when it has ended. */
export function Stderr({ source, over }: { source: RunSource; over: boolean }) {
  const attempts = useStderr(source, over);
  return (
    <Explained line={words.stderrLine}>
      <section
        aria-label={words.views.stderr}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto px-3 py-2 focus-visible:outline-offset-[-2px]"
      >
        {attempts === undefined && <Nothing>{words.loading}</Nothing>}
        {attempts === "failed" && <Nothing>{words.stderrFailed}</Nothing>}
        {attempts === "forbidden" && <Nothing>{words.stderrForbidden}</Nothing>}
        {Array.isArray(attempts) && attempts.length === 0 && (
          <Nothing>{over ? words.noStderr : words.noStderrYet}</Nothing>
        )}
        {Array.isArray(attempts) &&
          attempts.map(({ leg, text }) => (
            <div key={leg} className="mb-3">
              {attempts.length > 1 && (
                <p className="text-label font-medium tracking-wide text-ink-2">
                  {words.attempt(leg)}
                </p>
              )}
              <pre className="font-mono text-mono leading-5 break-words whitespace-pre-wrap">
                {visible(text)}
              </pre>
            </div>
          ))}
      </section>
    </Explained>
  );
}

type Loaded = AttemptStderr[] | "failed" | "forbidden";

/** Milliseconds between two requests for the stderr of a run that is going on. */
const INTERVAL = 1000;

function useStderr(source: RunSource, over: boolean): Loaded | undefined {
  const [attempts, setAttempts] = useState<Loaded>();
  useEffect(() => {
    let wanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      const found = await source
        .stderr?.()
        .catch((problem: unknown) =>
          problem instanceof Refused && problem.status === 403 ? "forbidden" : "failed",
        );
      if (!wanted) return;
      setAttempts(found);
      if (!over && found !== "forbidden") timer = setTimeout(load, INTERVAL);
    };
    void load();
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [source, over]);
  return attempts;
}
