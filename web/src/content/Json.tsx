import { useMemo, useState } from "react";
import { Code } from "@/content/Code";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const MOST = 10_000;

interface JsonProps {
  /** A tool's input or output. */
  value: unknown;
  /** Maximum height in pixels; taller content scrolls. */
  maxHeight?: number;
  /** The accessible name. */
  label?: string;
  /** Shown for approval: nothing is cut off or hidden. */
  exact?: boolean;
}

/** Data as JSON, strings as text. Long content is cut until it is expanded. */
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

/** More digits than a JavaScript number keeps: formatting it again would change the value. */
const LONG_NUMBER = /\d{16}/;

/** A string that contains a JSON object or array is shown as JSON. */
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

/** Escapes characters that change the text direction: a path must read as it is. */
export const visible = (text: string): string =>
  text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
