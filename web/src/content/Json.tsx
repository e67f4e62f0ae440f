import { useMemo, useState } from "react";
import { Code } from "@/content/Code";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const MOST = 10_000;

interface JsonProps {
  /** What a tool was given, or what it gave. */
  value: unknown;
  /** In pixels; then it scrolls. */
  maxHeight?: number;
  /** What this is, for those who do not see it. */
  label?: string;
}

/** Data as JSON, words as words. Much of either is cut until somebody wants all of it. */
export function Json({ value, maxHeight = 200, label }: JsonProps) {
  const [whole, setWhole] = useState(false);
  const { text, isData } = useMemo(() => written(value), [value]);
  const cut = !whole && text.length > MOST * 1.2;
  const shown = cut ? `${text.slice(0, MOST)}…` : text;
  return (
    <div>
      <Code
        bare
        wrap
        code={shown}
        copied={() => text}
        language={isData ? "json" : undefined}
        maxHeight={maxHeight}
        label={label ?? (isData ? strings.content.data : strings.content.plainText)}
      />
      {cut && (
        <Button kind="quiet" className="mt-1" onClick={() => setWhole(true)}>
          {strings.content.showAll(text.length)}
        </Button>
      )}
    </div>
  );
}

interface Written {
  text: string;
  isData: boolean;
}

/** More digits than a number has here: what is written again would not be what was said. */
const LONG_NUMBER = /\d{16}/;

/** Text that holds an object or a list in JSON is shown as that. */
function written(value: unknown): Written {
  if (typeof value !== "string") return { text: pretty(value), isData: true };
  if (!/^\s*[[{]/.test(value) || value.length > 1_000_000) return { text: value, isData: false };
  try {
    const data = JSON.parse(value);
    return { text: LONG_NUMBER.test(value) ? value : pretty(data), isData: true };
  } catch {
    return { text: value, isData: false };
  }
}

const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";
