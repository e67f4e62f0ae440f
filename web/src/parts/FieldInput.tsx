import { useId } from "react";
import type { Draft, Field, Option } from "@/parts/form";
import { FIELD } from "@/parts/RequestFrame";
import { strings } from "@/strings";

const words = strings.parts;

interface FieldInputProps {
  field: Field;
  value: Draft[string];
  disabled: boolean;
  onChange: (value: Draft[string]) => void;
}

/** One field of a question. */
export function FieldInput(props: FieldInputProps) {
  return props.field.kind === "choice" ? <Choices {...props} /> : <Written {...props} />;
}

const labelOf = ({ label, required }: Field): string =>
  (label || words.yourAnswer) + (required ? "" : ` ${words.optional}`);

function Choices({ field, value, disabled, onChange }: FieldInputProps) {
  const group = useId();
  const choose = (place: number) =>
    onChange({ chosen: chosenAfter(field, value, place), text: field.several ? value.text : "" });
  return (
    <fieldset className="min-w-0">
      <legend className={field.label ? "mb-1 font-medium" : "sr-only"}>{labelOf(field)}</legend>
      {field.hint && <p className="mb-1 text-ink-2">{field.hint}</p>}
      {field.options.map((option, place) => (
        <Row
          key={option.label}
          type={field.several ? "checkbox" : "radio"}
          name={group}
          option={option}
          disabled={disabled}
          checked={value.chosen.includes(place)}
          onChoose={() => choose(place)}
        />
      ))}
      {field.other && (
        <div className="mt-1.5">
          <TextField
            label={words.otherAnswer}
            value={value.text}
            disabled={disabled}
            onChange={(text) => onChange({ chosen: field.several ? value.chosen : [], text })}
          />
        </div>
      )}
    </fieldset>
  );
}

/** Toggles an option of a multiple choice; else selects it and clears the text. */
function chosenAfter(field: Field, { chosen }: Draft[string], place: number): number[] {
  if (!field.several) return [place];
  return chosen.includes(place)
    ? chosen.filter((each) => each !== place)
    : [...chosen, place].toSorted((a, b) => a - b);
}

interface RowProps {
  type: "checkbox" | "radio";
  name: string;
  option: Option;
  checked: boolean;
  disabled: boolean;
  onChoose: () => void;
}

function Row({ type, name, option, checked, disabled, onChoose }: RowProps) {
  return (
    <label className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-lg px-2 hover:bg-ground-3 max-md:min-h-11">
      <input
        type={type}
        name={name}
        checked={checked}
        disabled={disabled}
        onChange={onChoose}
        className="size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0 break-words">
        {option.label}
        {option.hint && <span className="text-ink-2"> — {option.hint}</span>}
      </span>
    </label>
  );
}

function Written({ field, value, disabled, onChange }: FieldInputProps) {
  return (
    <div>
      <TextField
        label={labelOf(field)}
        showsLabel={field.label !== ""}
        hint={field.hint}
        number={field.kind === "number"}
        value={value.text}
        disabled={disabled}
        onChange={(text) => onChange({ ...value, text })}
      />
    </div>
  );
}

interface TextFieldProps {
  label: string;
  showsLabel?: boolean;
  hint?: string;
  number?: boolean;
  value: string;
  disabled: boolean;
  onChange: (text: string) => void;
}

function TextField({ label, showsLabel, hint, number, value, disabled, onChange }: TextFieldProps) {
  const id = useId();
  return (
    <>
      <label htmlFor={id} className={showsLabel ? "mb-1 block font-medium" : "sr-only"}>
        {label}
      </label>
      {hint && <p className="mb-1 text-ink-2">{hint}</p>}
      <input
        id={id}
        value={value}
        disabled={disabled}
        inputMode={number ? "decimal" : undefined}
        placeholder={showsLabel ? undefined : label}
        onChange={(event) => onChange(event.target.value)}
        className={FIELD}
      />
    </>
  );
}
