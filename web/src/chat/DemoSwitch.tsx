import type { AgentChoice } from "@/chat/useAgentChoice";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const PILL = "inline-flex shrink-0 items-center rounded-full border text-label font-medium";
const ON = "border-thinking-line bg-thinking-ground text-thinking";

/** Turns demo mode on and off. Where the demo agent is the only one, shows a note instead. */
export function DemoSwitch({ choice }: { choice: AgentChoice }) {
  const { hasDemo, isOnlyDemo, isDemo, setDemo } = choice;
  if (!hasDemo) return null;
  if (isOnlyDemo) {
    return (
      <span title={strings.chat.demoOnly} className={classes(PILL, ON, "px-2 leading-5")}>
        {strings.chat.demo}
        <span className="sr-only">{strings.chat.demoOnly}</span>
      </span>
    );
  }
  return (
    <button
      type="button"
      role="switch"
      aria-checked={isDemo}
      title={strings.chat.demoHint}
      onClick={() => setDemo(!isDemo)}
      className="flex min-h-7 shrink-0 items-center rounded-full max-md:min-h-11"
    >
      <span
        className={classes(
          PILL,
          "gap-1.5 px-2 leading-6 hover:bg-ground-3",
          isDemo ? ON : "border-ink-2 text-ink-2",
        )}
      >
        {strings.chat.demo}
        <Track on={isDemo} />
      </span>
    </button>
  );
}

const Track = ({ on }: { on: boolean }) => (
  <span
    aria-hidden
    className={classes(
      "flex h-3.5 w-6 items-center rounded-full border border-current px-px",
      on && "justify-end",
    )}
  >
    <span className="size-2.5 rounded-full bg-current" />
  </span>
);
