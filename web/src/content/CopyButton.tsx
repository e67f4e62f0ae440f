import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { copyText } from "@/ui/clipboard";

interface CopyButtonProps {
  /** Asked for at the click: what is copied may be long to make. */
  text: () => string;
  /** What is copied, where "Copy" alone does not say it. */
  label?: string;
  className?: string;
}

/** Puts text on the clipboard, and says so. */
export function CopyButton({ text, label = strings.content.copy, className }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const name = copied ? strings.content.copied : label;
  const Icon = copied ? Check : Copy;
  return (
    <>
      <button
        type="button"
        aria-label={name}
        title={name}
        onClick={() => copyText(text()).then(setCopied)}
        className={classes(
          "inline-flex size-8 shrink-0 items-center justify-center rounded-small text-ink-2",
          "transition-colors hover:bg-ground-3 hover:text-ink max-md:size-11",
          className,
        )}
      >
        <Icon aria-hidden className="size-3.5" />
      </button>
      <span aria-live="polite" className="sr-only">
        {copied && strings.content.copied}
      </span>
    </>
  );
}
