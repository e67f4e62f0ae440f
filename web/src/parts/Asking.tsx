import { Check, type LucideIcon, ShieldQuestionMark, X } from "lucide-react";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { useSending } from "@/state/useSending";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.parts;

interface AskingProps {
  title: string;
  icon?: LucideIcon;
  children: ReactNode;
}

/** The frame around whatever waits for a person. */
export function Asking({ title, icon: Icon = ShieldQuestionMark, children }: AskingProps) {
  const id = useId();
  return (
    <fieldset
      aria-labelledby={id}
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

interface ChoiceProps {
  onDecide: (approved: boolean, reason?: string) => unknown;
}

/** Yes, or no and why not, which is asked after the no. */
export function Choice({ onDecide }: ChoiceProps) {
  const id = useId();
  const [reason, setReason] = useState<string>();
  const { busy, problem, send } = useSending();
  const isDenying = reason !== undefined;
  const deny = (event: FormEvent) => {
    event.preventDefault();
    if (isDenying) send(() => onDecide(false, reason.trim() || undefined));
    else setReason("");
  };
  return (
    <form onSubmit={deny} className="mt-3">
      {isDenying && (
        <>
          <label htmlFor={id} className="mb-1 block text-label text-ink-2">
            {words.denyReason}
          </label>
          <input
            ref={focus}
            id={id}
            value={reason}
            disabled={busy}
            autoComplete="off"
            onChange={(event) => setReason(event.target.value)}
            className={FIELD}
          />
        </>
      )}
      <Row busy={busy} failed={problem !== undefined}>
        <Button kind="solid" disabled={busy} onClick={() => send(() => onDecide(true))}>
          <Check aria-hidden className="size-4" />
          {words.approve}
        </Button>
        <Button type="submit" kind={isDenying ? "danger" : "outline"} disabled={busy}>
          <X aria-hidden className="size-4" />
          {words.deny}
        </Button>
      </Row>
    </form>
  );
}

const focus = (field: HTMLElement | null) => field?.focus();

export const FIELD =
  "min-h-9 w-full min-w-0 rounded-lg border border-ink-2 bg-ground px-3 py-1.5 text-block placeholder:text-ink-2 disabled:opacity-50 max-md:min-h-11 max-md:text-[16px]";

interface RowProps {
  busy: boolean;
  failed: boolean;
  children: ReactNode;
}

/** The controls of an answer, and what became of it. */
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
