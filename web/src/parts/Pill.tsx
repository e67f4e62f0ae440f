import {
  Ban,
  Check,
  CircleStop,
  CircleX,
  Hand,
  LoaderCircle,
  type LucideIcon,
  MessageCircleReply,
  PencilLine,
} from "lucide-react";
import type { CallState } from "@/parts/blocks";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const BUSY = "bg-running-ground text-running";
const OVER = "bg-ground-3 text-ink-2";

const LOOKS: Record<CallState, { icon: LucideIcon; look: string; turns?: boolean }> = {
  preparing: { icon: PencilLine, look: BUSY },
  running: { icon: LoaderCircle, look: BUSY, turns: true },
  waiting: { icon: Hand, look: BUSY },
  answered: { icon: MessageCircleReply, look: OVER },
  done: { icon: Check, look: "bg-ok-ground text-ok" },
  failed: { icon: CircleX, look: "bg-bad-ground text-bad" },
  denied: { icon: Ban, look: "bg-bad-ground text-bad" },
  stopped: { icon: CircleStop, look: OVER },
};

/** The state of a tool call, as an icon and a word. */
export function Pill({ state }: { state: CallState }) {
  const { icon: Icon, look, turns } = LOOKS[state];
  return (
    <span
      className={classes(
        "inline-flex shrink-0 items-center gap-1 rounded-full px-2 py-0.5 text-label font-medium",
        look,
      )}
    >
      <Icon aria-hidden className={classes("size-3", turns && "animate-spin")} />
      {strings.parts.callStates[state]}
    </span>
  );
}
