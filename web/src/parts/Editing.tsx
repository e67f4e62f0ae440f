import { useId, useState } from "react";
import { visible } from "@/content/Json";
import { isFields } from "@/json";
import { FIELD } from "@/parts/RequestFrame";
import { Controls, focus, Writing, type WritingProps } from "@/parts/Written";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";

const words = strings.parts;

interface EditingProps extends WritingProps {
  input: unknown;
  onSend: (value: unknown, isChanged: boolean) => void;
}

/** Editor of a tool call's input: strings as text, other values as JSON. */
export function Editing({ input, onSend, ...writing }: EditingProps) {
  const id = useId();
  const isWords = typeof input === "string";
  const [before] = useState(isWords ? input : visible(JSON.stringify(input, null, 2)));
  const [text, setText] = useState(before);
  const [isTried, setTried] = useState(false);
  const { value, problem } = isWords ? { value: text, problem: undefined } : read(text, input);
  const shown = isTried ? problem : undefined;
  const send = () => {
    setTried(true);
    if (problem === undefined) onSend(value, text !== before);
  };
  return (
    <Writing {...writing} onSubmit={send}>
      <label htmlFor={id} className="mb-1 block text-label text-ink-2">
        {isWords ? words.editedInput : words.editedJson}
      </label>
      <textarea
        ref={focus}
        id={id}
        value={text}
        rows={Math.min(Math.max(text.split("\n").length, 4), 16)}
        disabled={writing.busy}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        aria-invalid={shown !== undefined}
        aria-describedby={`${id}-problem`}
        onChange={(event) => setText(event.target.value)}
        className={classes(FIELD, "resize-y font-mono aria-invalid:border-bad md:text-mono")}
      />
      <p id={`${id}-problem`} role="alert" className="break-words text-bad">
        {shown}
      </p>
      <Controls {...writing}>
        <Button type="submit" kind="solid" disabled={writing.busy}>
          {words.approveChanged}
        </Button>
      </Controls>
    </Writing>
  );
}

interface Read {
  value?: unknown;
  problem?: string;
}

/** The edited value, if it is JSON of the same kind as before. */
function read(text: string, before: unknown): Read {
  try {
    const value: unknown = JSON.parse(text);
    if (isFields(before) && !isFields(value)) return { problem: words.notObject };
    return { value };
  } catch (error) {
    return { problem: words.notJson((error as Error).message) };
  }
}
