import { useState } from "react";
import { CopyButton } from "@/content/CopyButton";
import { ScrollBox } from "@/content/ScrollBox";
import type { Line } from "@/parts/tools/reading";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const MOST = 500;

/** The lines of a file with their numbers. */
export function FileLines({ lines, label }: { lines: Line[]; label: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? lines : lines.slice(0, MOST);
  const width = `${String(lines.at(-1)?.number ?? 1).length + 1}ch`;
  return (
    <>
      <div className="code code-bare font-mono text-mono">
        <div className="code-head">
          <CopyButton
            text={() => lines.map(({ text }) => text).join("\n")}
            label={strings.content.copyOf(label)}
            className="code-corner"
          />
        </div>
        <ScrollBox as="pre" label={label} maxHeight={320} className="code-body code-wrap">
          <code>
            {shown.map(({ number, text }, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its place
              <span key={place} className="flex">
                <span
                  aria-hidden
                  style={{ minWidth: width }}
                  className="shrink-0 pe-3 text-end text-ink-2 select-none"
                >
                  {number}
                </span>
                <span className="min-w-0 flex-1">{`${text}\n`}</span>
              </span>
            ))}
          </code>
        </ScrollBox>
      </div>
      {shown.length < lines.length && (
        <Button kind="quiet" className="mt-1" onClick={() => setWhole(true)}>
          {strings.activity.allLines(lines.length)}
        </Button>
      )}
    </>
  );
}
