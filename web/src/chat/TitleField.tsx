import { useEffect, useRef, useState } from "react";
import { tellFailure } from "@/chat/failure";
import { strings } from "@/strings";

interface TitleFieldProps {
  title: string;
  editable: boolean;
  editing: boolean;
  onEdit: (editing: boolean) => void;
  onSave: (title: string) => Promise<void>;
}

/**
 * The title, which becomes a field where it stands. Enter and leaving it keep what was typed; a title
 * that could not be kept stays in the field, with the reason.
 */
export function TitleField({ title, editable, editing, onEdit, onSave }: TitleFieldProps) {
  const button = useRef<HTMLButtonElement>(null);
  const goesBack = useRef(false);
  useEffect(() => {
    if (editing || !goesBack.current) return;
    goesBack.current = false;
    button.current?.focus();
  }, [editing]);
  const onEnd = (byKey: boolean) => {
    goesBack.current = byKey;
    onEdit(false);
  };
  if (editing) return <Field title={title} onEnd={onEnd} onSave={onSave} />;
  if (!editable) return <h1 className="truncate text-sm font-semibold max-md:flex-1">{title}</h1>;
  return (
    <h1 className="min-w-0 max-md:flex-1">
      <button
        ref={button}
        type="button"
        onClick={() => onEdit(true)}
        title={strings.chat.rename}
        className="block max-w-full truncate rounded-small px-1 text-left text-sm font-semibold hover:bg-ground-3 max-md:min-h-11"
      >
        {title}
      </button>
    </h1>
  );
}

interface FieldProps {
  title: string;
  onEnd: (byKey: boolean) => void;
  onSave: (title: string) => Promise<void>;
}

function Field({ title, onEnd, onSave }: FieldProps) {
  const [text, setText] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  // A menu gives the focus back to its button when it has closed: later than this begins.
  useEffect(() => {
    const timer = setTimeout(() => field.current?.select(), 0);
    return () => clearTimeout(timer);
  }, []);
  const { problem, save, leave } = useSaving(title, onEnd, onSave);
  return (
    <div className="relative min-w-0 flex-1 md:max-w-md">
      <input
        ref={field}
        aria-label={strings.chat.title}
        aria-invalid={problem !== undefined}
        value={text}
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => problem === undefined && void save(text, false)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Enter") void save(text, true);
          if (event.key === "Escape") {
            event.preventDefault();
            leave(true);
          }
        }}
        className="w-full rounded-small border bg-ground px-1 text-sm font-semibold max-md:min-h-11 max-md:text-[16px]"
      />
      {problem !== undefined && (
        <p
          role="alert"
          className="absolute top-full left-0 z-10 mt-1 rounded-small border border-bad-line bg-bad-ground px-2 py-1 text-block text-bad shadow-md"
        >
          {problem}
        </p>
      )}
    </div>
  );
}

/** One try at a time; once the field goes, that it loses the focus means nothing. */
function useSaving(title: string, onEnd: FieldProps["onEnd"], onSave: FieldProps["onSave"]) {
  const [problem, setProblem] = useState<string>();
  const isBusy = useRef(false);
  const leave = (byKey: boolean) => {
    isBusy.current = true;
    onEnd(byKey);
  };
  const save = async (text: string, byKey: boolean) => {
    if (isBusy.current) return;
    const next = text.trim();
    if (!next || next === title) return leave(byKey);
    isBusy.current = true;
    try {
      await onSave(next);
      leave(byKey);
    } catch (error) {
      setProblem(tellFailure(error));
      isBusy.current = false;
    }
  };
  return { problem, save, leave };
}
