import type { ReactNode } from "react";
import { Cut } from "@/inspector/Cut";
import { type Entry, endingOf, framesOf, type Origin } from "@/inspector/entries";
import { strings } from "@/strings";

const words = strings.inspector;

interface DetailProps {
  entry: Entry;
  origin: Origin;
  format: string;
}

/** An entry in full: its raw lines, the event and its frames, side by side if there is room. */
export function Detail({ entry, origin, format }: DetailProps) {
  const frames = framesOf(entry, format);
  const sent = [...frames, ...endingOf(entry, format)];
  return (
    <div className="grid gap-3 px-3 pt-1 pb-3 @2xl:grid-cols-3">
      <Column name={words.columns.raw.name}>
        {entry.lines.map(({ n, line, firstSeq, lastSeq }) => (
          <Part key={n} name={words.lineNumber(n)} note={lastSeq < firstSeq ? words.noEvent : ""}>
            <Cut text={line} label={words.lineNumber(n)} />
          </Part>
        ))}
        {entry.lines.length === 0 && <None>{ORIGINS[origin]}</None>}
      </Column>
      <Column name={words.columns.event.name}>
        <Part name={words.row(entry.seq, entry.event.type)}>
          <Cut
            text={JSON.stringify(entry.event, null, 2)}
            label={words.row(entry.seq, entry.event.type)}
          />
        </Part>
      </Column>
      <Column name={words.columns.frames.name}>
        {sent.map((frame, index) => {
          const name = words.frameNumber(index + 1, sent.length);
          const text = typeof frame === "string" ? frame : JSON.stringify(frame, null, 2);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: frames have no id but their index
            <Part key={index} name={name} note={index < frames.length ? "" : words.ending}>
              <Cut text={text} label={name} />
            </Part>
          );
        })}
        {sent.length === 0 && <None>{words.noFrames}</None>}
      </Column>
    </div>
  );
}

export const ORIGINS: Record<Origin, string> = {
  own: "",
  above: words.aboveLine,
  mobox: words.ownLine,
};

const Column = ({ name, children }: { name: string; children: ReactNode }) => (
  <section aria-label={name} className="flex min-w-0 flex-col gap-2">
    {children}
  </section>
);

const None = ({ children }: { children: string }) => (
  <p className="text-mono text-ink-2 italic">{children}</p>
);

interface PartProps {
  name: string;
  note?: string;
  children: ReactNode;
}

const Part = ({ name, note, children }: PartProps) => (
  <div className="min-w-0">
    <p className="mb-1 text-label font-medium tracking-wide text-ink-2">
      {name}
      {note && <span className="italic"> · {note}</span>}
    </p>
    {children}
  </div>
);
