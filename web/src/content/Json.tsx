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
  /** Somebody decides about it: nothing is cut, and nothing in it is unseen. */
  exact?: boolean;
}

/** Data as JSON, words as words. Much of either is cut until somebody wants all of it. */
export function Json({ value, maxHeight = 200, label, exact = false }: JsonProps) {
  const [whole, setWhole] = useState(exact);
  const { text, isData } = useMemo(() => written(value, exact), [value, exact]);
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
function written(value: unknown, exact: boolean): Written {
  if (typeof value !== "string") return { text: pretty(value), isData: true };
  const words = { text: exact ? visible(value) : value, isData: false };
  if (!/^\s*[[{]/.test(value) || value.length > 1_000_000) return words;
  try {
    const data = JSON.parse(value);
    return { text: LONG_NUMBER.test(value) ? visible(value) : pretty(data), isData: true };
  } catch {
    return words;
  }
}

const pretty = (value: unknown): string => visible(JSON.stringify(value, null, 2) ?? "");

/** With what would turn the text around it as JSON escapes it: a path must read as it is. */
export const visible = (text: string): string =>
  text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
