import { useState } from "react";
import { Code } from "@/content/Code";
import { visible } from "@/content/Json";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

/** Longer text is cut until it is expanded. */
const MOST = 4_000;

interface CutProps {
  text: string;
  label: string;
  maxHeight?: number;
}

/** Plain text; long text is cut until it is expanded. */
export function Cut({ text, label, maxHeight = 260 }: CutProps) {
  const [whole, setWhole] = useState(false);
  const isCut = !whole && text.length > MOST * 1.2;
  return (
    <div>
      <Code
        bare
        wrap
        code={visible(isCut ? `${text.slice(0, MOST)}…` : text)}
        copied={() => text}
        language={/^\s*[[{]/.test(text) ? "json" : undefined}
        maxHeight={maxHeight}
        label={label}
      />
      {isCut && (
        <Button kind="quiet" className="mt-1" onClick={() => setWhole(true)}>
          {strings.content.showAll(text.length)}
        </Button>
      )}
    </div>
  );
}
