import { type LucideIcon, ShieldQuestionMark } from "lucide-react";
import { type ReactNode, useId } from "react";
import { access } from "@/state/access";
import { useStore } from "@/store";
import { strings } from "@/strings";

const words = strings.parts;

interface RequestFrameProps {
  title: string;
  icon?: LucideIcon;
  children: ReactNode;
}

/** The frame around an input request, which only a chat's owner can answer. */
export function RequestFrame({
  title,
  icon: Icon = ShieldQuestionMark,
  children,
}: RequestFrameProps) {
  const id = useId();
  const { readOnly } = useStore(access);
  return (
    <fieldset
      aria-labelledby={id}
      tabIndex={-1}
      disabled={readOnly}
      className="min-w-0 rounded-block border border-running bg-ground px-3 py-3 text-block"
    >
      <p id={id} className="mb-2 flex items-start gap-2 font-medium">
        <Icon aria-hidden className="mt-[3px] size-4 shrink-0 text-running" />
        <span className="min-w-0 break-words whitespace-pre-wrap">{title}</span>
      </p>
      {children}
    </fieldset>
  );
}

export const FIELD =
  "min-h-9 w-full min-w-0 rounded-lg border border-ink-2 bg-ground px-3 py-1.5 text-block placeholder:text-ink-2 disabled:opacity-50 max-md:min-h-11 max-md:text-[16px]";

interface RowProps {
  busy: boolean;
  failed: boolean;
  children: ReactNode;
}

/** The controls of an answer, and the state of sending it. */
export function Row({ busy, failed, children }: RowProps) {
  return (
    <div className="mt-3">
      <div className="flex flex-wrap items-center gap-2">{children}</div>
      <p role="status" className={failed ? "text-bad" : "text-ink-2"}>
        {busy ? words.sending : failed ? words.notSent : ""}
      </p>
    </div>
  );
}
