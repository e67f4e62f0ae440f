import { Check, Copy, X } from "lucide-react";
import { useEffect, useState } from "react";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { copyText } from "@/ui/clipboard";

interface CopyButtonProps {
  /** Called on click: the text may be expensive to make. */
  text: () => string;
  /** Names what is copied, where "Copy" alone is ambiguous. */
  label?: string;
  className?: string;
}

const OUTCOMES = {
  copied: { Icon: Check, feedback: strings.content.copied },
  refused: { Icon: X, feedback: strings.content.copyRefused },
};

/** Copies text to the clipboard and shows whether that worked. */
export function CopyButton({ text, label = strings.content.copy, className }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<keyof typeof OUTCOMES>();
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(undefined), 2000);
    return () => clearTimeout(timer);
  }, [outcome]);
  const { Icon, feedback } = outcome ? OUTCOMES[outcome] : { Icon: Copy, feedback: undefined };
  const name = feedback ?? label;
  const copy = async () => setOutcome((await copyText(text())) ? "copied" : "refused");
  return (
    <>
      <button
        type="button"
        aria-label={name}
        title={name}
        onClick={() => void copy()}
        className={classes(
          "inline-flex size-8 shrink-0 items-center justify-center rounded-small text-ink-2",
          "transition-colors hover:bg-ground-3 hover:text-ink max-md:size-11",
          className,
        )}
      >
        <Icon aria-hidden className="size-3.5" />
      </button>
      <span aria-live="polite" className="sr-only">
        {feedback}
      </span>
    </>
  );
}
