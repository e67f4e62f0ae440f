import { Download, ListOrdered, WrapText } from "lucide-react";
import { extensionOf } from "@/content/languages";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { save } from "@/ui/save";

const words = strings.rich;

export interface CodeLook {
  wraps: boolean;
  hasNumbers: boolean;
}

interface CodeToolsProps extends CodeLook {
  code: string;
  language?: string;
  onChange: (look: CodeLook) => void;
}

const BUTTON =
  "inline-flex size-8 shrink-0 items-center justify-center rounded-small transition-colors " +
  "hover:bg-ground-3 hover:text-ink max-md:size-11 [&_svg]:size-3.5 aria-pressed:bg-ground-3 " +
  "aria-pressed:text-ink";

/** The buttons of a code block. */
export function CodeTools({ code, language, wraps, hasNumbers, onChange }: CodeToolsProps) {
  const toggles = [
    { Icon: WrapText, label: words.wrap, on: wraps, to: { wraps: !wraps, hasNumbers } },
    {
      Icon: ListOrdered,
      label: words.numbers,
      on: hasNumbers,
      to: { wraps, hasNumbers: !hasNumbers },
    },
  ];
  return (
    <>
      {toggles.map(({ Icon, label, on, to }) => (
        <button
          key={label}
          type="button"
          aria-pressed={on}
          aria-label={label}
          title={label}
          onClick={() => onChange(to)}
          className={classes(BUTTON, "text-ink-2")}
        >
          <Icon aria-hidden />
        </button>
      ))}
      <button
        type="button"
        aria-label={words.downloadCode}
        title={words.downloadCode}
        onClick={() => save(`code.${extensionOf(language)}`, "text/plain", code)}
        className={classes(BUTTON, "text-ink-2")}
      >
        <Download aria-hidden />
      </button>
    </>
  );
}
