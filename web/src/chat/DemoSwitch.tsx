import { FlaskConical, FlaskConicalOff } from "lucide-react";
import { isHidden } from "@/brand";
import type { AgentChoice } from "@/chat/useAgentChoice";
import { frame } from "@/frame";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const ON = "border-thinking-line bg-thinking-ground text-thinking";
const OFF = "border-ink-2 text-ink-2";

/** Turns demo mode on and off. Where the demo agent is the only one, there is nothing to switch. */
export function DemoSwitch({ choice }: { choice: AgentChoice }) {
  const { hasDemo, isOnlyDemo, isDemo, setDemo } = choice;
  if (!hasDemo || isOnlyDemo || isHidden("demo") || frame.agent) return null;
  const Sign = isDemo ? FlaskConical : FlaskConicalOff;
  return (
    <button
      type="button"
      role="switch"
      aria-checked={isDemo}
      title={strings.chat.demoHint}
      onClick={() => setDemo(!isDemo)}
      className="flex min-h-7 shrink-0 items-center justify-center rounded-full max-md:size-11"
    >
      <span
        className={classes(
          "inline-flex items-center gap-1.5 rounded-full border px-2 text-label leading-6 font-medium",
          "hover:bg-ground-3 max-md:p-2",
          isDemo ? ON : OFF,
        )}
      >
        {/* On phones the title needs the room. */}
        <Sign aria-hidden className="size-4 md:hidden" />
        <span className="max-md:sr-only">{strings.chat.demo}</span>
        <Track on={isDemo} />
      </span>
    </button>
  );
}

const Track = ({ on }: { on: boolean }) => (
  <span
    aria-hidden
    className={classes(
      "flex h-3.5 w-6 items-center rounded-full border border-current px-px max-md:hidden",
      on && "justify-end",
    )}
  >
    <span className="size-2.5 rounded-full bg-current" />
  </span>
);
