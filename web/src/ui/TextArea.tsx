import { type ComponentProps, type RefObject, useLayoutEffect } from "react";
import { classes } from "@/ui/classes";

const TALLEST = 160;

interface TextAreaProps extends Omit<ComponentProps<"textarea">, "ref" | "onChange"> {
  ref: RefObject<HTMLTextAreaElement | null>;
  value: string;
  onChange: (text: string) => void;
  onEnter: () => void;
}

/**
 * A text area that grows with its text, up to a maximum. Enter is handled by the parent, Shift+Enter is a
 * new line. Its font is large enough that phones do not zoom in.
 */
export function TextArea(props: TextAreaProps) {
  const { ref, value, onChange, onEnter, onKeyDown, className, ...rest } = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text
  useLayoutEffect(() => {
    const area = ref.current;
    if (!area) return;
    // Not all browsers support `field-sizing` yet.
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, TALLEST)}px`;
    area.style.overflowY = area.scrollHeight > TALLEST ? "auto" : "hidden";
  }, [ref, value]);
  return (
    <textarea
      rows={1}
      {...rest}
      ref={ref}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        // Enter confirms a choice in an input method; Safari reports key code 229 for that.
        if (event.nativeEvent.isComposing || event.keyCode === 229) return;
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          // A repeated key may have been pressed on a button that moved the focus here.
          if (!event.repeat) onEnter();
        } else onKeyDown?.(event);
      }}
      className={classes(
        "block w-full resize-none bg-transparent placeholder:text-ink-2 focus-visible:outline-none max-md:text-[16px]",
        className,
      )}
    />
  );
}
