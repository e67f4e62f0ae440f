import { useEffect, useRef, useState } from "react";
import { strings } from "@/strings";

interface TitleFieldProps {
  title: string;
  editable: boolean;
  editing: boolean;
  onEdit: (editing: boolean) => void;
  onSave: (title: string) => void;
}

/** The title, which becomes a field where it stands. Enter and leaving it keep what was typed. */
export function TitleField({ title, editable, editing, onEdit, onSave }: TitleFieldProps) {
  if (editing) return <Field title={title} onEdit={onEdit} onSave={onSave} />;
  if (!editable) return <h1 className="truncate text-sm font-semibold max-md:flex-1">{title}</h1>;
  return (
    <h1 className="min-w-0 max-md:flex-1">
      <button
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

function Field({ title, onEdit, onSave }: Omit<TitleFieldProps, "editable" | "editing">) {
  const [text, setText] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  // A menu gives the focus back to its button when it has closed: later than this begins.
  useEffect(() => {
    const timer = setTimeout(() => field.current?.select(), 0);
    return () => clearTimeout(timer);
  }, []);
  const isOver = useRef(false);
  const end = (keep: boolean) => {
    const next = text.trim();
    if (isOver.current) return; // the field also loses the focus when it goes
    isOver.current = true;
    onEdit(false);
    if (keep && next && next !== title) onSave(next);
  };
  return (
    <input
      ref={field}
      aria-label={strings.chat.title}
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => end(true)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") end(true);
        if (event.key === "Escape") {
          event.preventDefault();
          end(false);
        }
      }}
      className="min-w-0 flex-1 rounded-small border bg-ground px-1 text-sm font-semibold max-md:min-h-11 max-md:text-[16px] md:max-w-md"
    />
  );
}
