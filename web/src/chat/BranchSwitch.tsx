import { ChevronLeft, ChevronRight } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import type { Fork } from "@/api";
import { useFork } from "@/chat/facts";
import type { MessageActions } from "@/chat/useMessageActions";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.answers;

interface BranchSwitchProps {
  messageId: string;
  /** No run is active, so another version can be chosen. */
  free: boolean;
  onChoose: MessageActions["choose"];
}

/** ‹ 2/3 ›: which version of a message is shown, and the way to the others. */
export function BranchSwitch({ messageId, ...rest }: BranchSwitchProps) {
  const fork = useFork(messageId);
  return fork ? <Switch fork={fork} {...rest} /> : null;
}

type Step = -1 | 1;

/** The button that was used and the version it leads to: its message may be another component then. */
let used: { step: Step; runId: string } | undefined;

interface SwitchProps extends Omit<BranchSwitchProps, "messageId"> {
  fork: Fork;
}

function Switch({ fork, free, onChoose }: SwitchProps) {
  const { chosen, versions } = fork;
  const group = useRef<HTMLFieldSetElement>(null);
  const shown = versions[chosen]?.runId;
  useEffect(() => {
    if (used?.runId !== shown) return;
    const { step } = used ?? {};
    used = undefined;
    group.current?.querySelector<HTMLElement>(`[data-step="${step}"]`)?.focus();
  }, [shown]);
  const go = async (step: Step) => {
    const target = versions[chosen + step];
    if (!target) return;
    used = { step, runId: target.runId };
    if (!(await onChoose(target.runId))) used = undefined;
  };
  return (
    <fieldset
      ref={group}
      aria-label={words.versions}
      onKeyDown={(event) => stepOf(event, go)}
      className="flex items-center text-mono text-ink-2 tabular-nums"
    >
      <StepButton step={-1} label={words.previous} isEnd={chosen === 0} free={free} onGo={go}>
        <ChevronLeft aria-hidden />
      </StepButton>
      <span>
        <span aria-hidden>{words.counter(chosen + 1, versions.length)}</span>
        <span className="sr-only">{words.versionOf(chosen + 1, versions.length)}</span>
      </span>
      <StepButton
        step={1}
        label={words.next}
        isEnd={chosen === versions.length - 1}
        free={free}
        onGo={go}
      >
        <ChevronRight aria-hidden />
      </StepButton>
    </fieldset>
  );
}

/** Arrow keys, in the direction of reading. */
function stepOf(event: KeyboardEvent<HTMLElement>, go: (step: Step) => void): void {
  const isReversed = getComputedStyle(event.currentTarget).direction === "rtl";
  const steps: Record<string, Step> = isReversed
    ? { ArrowLeft: 1, ArrowRight: -1 }
    : { ArrowLeft: -1, ArrowRight: 1 };
  const step = steps[event.key];
  if (step === undefined) return;
  event.preventDefault();
  go(step);
}

interface StepButtonProps {
  step: Step;
  label: string;
  /** There is no version in this direction. */
  isEnd: boolean;
  free: boolean;
  onGo: (step: Step) => void;
  children: ReactNode;
}

/** Never `disabled`: it would lose the focus at the last version, and could not say why it does nothing. */
const StepButton = ({ step, label, isEnd, free, onGo, children }: StepButtonProps) => (
  <button
    type="button"
    data-step={step}
    aria-label={label}
    aria-disabled={isEnd || !free}
    title={isEnd || free ? label : words.busy}
    onClick={() => !isEnd && onGo(step)}
    className={classes(
      "inline-flex size-9 items-center justify-center rounded-lg transition-colors max-md:size-11",
      "[&_svg]:size-4 rtl:[&_svg]:-scale-x-100",
      isEnd || !free ? "cursor-default opacity-50" : "hover:bg-ground-3 hover:text-ink",
    )}
  >
    {children}
  </button>
);
