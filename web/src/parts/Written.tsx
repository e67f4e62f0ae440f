import { type FormEvent, type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { FIELD, Row } from "@/parts/RequestFrame";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

export interface WritingProps {
  busy: boolean;
  failed: boolean;
  onCancel: () => void;
}

interface WrittenProps extends WritingProps {
  label: string;
  /** The label of the submit button. */
  action: string;
  /** Multi-line; otherwise a single line, which Enter sends. */
  rows?: number;
  danger?: boolean;
  onSend: (text: string) => void;
}

/** A decision with a text. */
export function Written({ label, action, rows, danger, onSend, ...writing }: WrittenProps) {
  const id = useId();
  const [text, setText] = useState("");
  const trimmed = text.trim();
  const field = {
    id,
    ref: focus,
    value: text,
    disabled: writing.busy,
    autoComplete: "off",
    className: FIELD,
    onChange: (event: { target: { value: string } }) => setText(event.target.value),
  };
  return (
    <Writing {...writing} onSubmit={() => trimmed && onSend(trimmed)}>
      <label htmlFor={id} className="mb-1 block text-label text-ink-2">
        {label}
      </label>
      {rows === undefined ? <input {...field} /> : <textarea {...field} rows={rows} />}
      <Controls {...writing}>
        <Button
          type="submit"
          kind={danger ? "danger" : "solid"}
          disabled={writing.busy || trimmed === ""}
        >
          {action}
        </Button>
      </Controls>
    </Writing>
  );
}

interface FormProps extends WritingProps {
  onSubmit: () => void;
  children: ReactNode;
}

/** The form around an opened field; Escape closes it and does not stop the agent. */
export function Writing({ onSubmit, onCancel, children }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  const cancel = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    onCancel();
  };
  return (
    <form onSubmit={submit} onKeyDown={cancel} className="mt-3">
      {children}
    </form>
  );
}

/** The submit and cancel buttons. */
export function Controls({ busy, failed, onCancel, children }: WritingProps & ChildrenProps) {
  return (
    <Row busy={busy} failed={failed}>
      {children}
      <Button kind="quiet" disabled={busy} onClick={onCancel}>
        {strings.parts.cancel}
      </Button>
    </Row>
  );
}

interface ChildrenProps {
  children: ReactNode;
}

export const focus = (field: HTMLElement | null) => field?.focus();
