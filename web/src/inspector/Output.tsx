import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { type AttemptStderr, getStderr, Refused } from "@/api";
import { visible } from "@/content/Json";
import type { Entry, Line } from "@/inspector/entries";
import { useEnd } from "@/inspector/useEnd";
import { strings } from "@/strings";

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
  const lines = entries.flatMap((entry) => entry.lines);
  return (
    <Explained line={words.stdoutLine}>
      {lines.length > 0 ? (
        <Lines lines={lines} live={!over} />
      ) : (
        <Nothing>{over ? words.noStdout : words.noStdoutYet}</Nothing>
      )}
    </Explained>
  );
}

/** Virtualized: there may be many thousands of lines. */
function Lines({ lines, live }: { lines: Line[]; live: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => 26,
    overscan: 8,
    useFlushSync: false,
  });
  useEnd(box, lines.length, live, () => virtual.scrollToIndex(lines.length - 1, { align: "end" }));
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
          const line = lines[index];
          return (
            line && (
              <div
                key={line.n}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute top-0 left-0 flex w-full gap-3 border-b px-3 py-1 font-mono text-mono leading-5"
                style={{ transform: `translateY(${start}px)` }}
              >
                <span className="w-9 shrink-0 text-right text-ink-2 select-none tabular-nums">
                  {line.n}
                </span>
                <Text text={line.line} />
              </div>
            )
          );
        })}
      </div>
    </section>
  );
}

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
          className="ml-2 font-sans text-accent underline"
        >
          {strings.content.showAll(text.length)}
        </button>
      )}
    </span>
  );
}

/** The agent's stderr: loaded every second while the run is going on, and when it has ended. */
export function Stderr({ runId, over }: { runId: string; over: boolean }) {
  const attempts = useStderr(runId, over);
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

function useStderr(runId: string, over: boolean): Loaded | undefined {
  const [attempts, setAttempts] = useState<Loaded>();
  useEffect(() => {
    let wanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      const found = await getStderr(runId).catch((problem: unknown) =>
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
  }, [runId, over]);
  return attempts;
}
