import { type ReactNode, useState } from "react";
import { Code } from "@/content/Code";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

interface SectionProps {
  label: string;
  /** A path, a status: beside the label. */
  beside?: string;
  children: ReactNode;
}

/** A labelled part of a call. */
export const Section = ({ label, beside, children }: SectionProps) => (
  <div>
    <p className="mb-1 flex flex-wrap items-baseline gap-x-2 text-label text-ink-2">
      <span className="font-medium tracking-wide uppercase">{label}</span>
      {beside && <span className="min-w-0 font-mono break-all">{beside}</span>}
    </p>
    {children}
  </div>
);

const MOST = 10_000;

/** A text as it was printed; long ones are cut until they are expanded. */
export function Cut({ text, label }: { text: string; label: string }) {
  const [whole, setWhole] = useState(false);
  if (text.trim() === "")
    return <p className="text-block text-ink-2">{strings.activity.noOutput}</p>;
  const cut = !whole && text.length > MOST * 1.2;
  return (
    <>
      <Code
        bare
        wrap
        code={cut ? `${text.slice(0, MOST)}…` : text}
        copied={() => text}
        label={label}
        maxHeight={280}
      />
      {cut && (
        <Button kind="quiet" className="mt-1" onClick={() => setWhole(true)}>
          {strings.content.showAll(text.length)}
        </Button>
      )}
    </>
  );
}
