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
 * A field that grows with what is written, up to a bound. Enter is for who uses it, Shift and Enter is
 * a new line. Its letters are never so small that a telephone would zoom in.
 */
export function TextArea(props: TextAreaProps) {
  const { ref, value, onChange, onEnter, onKeyDown, className, ...rest } = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text
  useLayoutEffect(() => {
    const area = ref.current;
    if (!area) return;
    // The CSS for that is not everywhere yet.
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
        // Who writes with an input method chooses by Enter; 229 is how Safari says so.
        if (event.nativeEvent.isComposing || event.keyCode === 229) return;
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          // One that is held down may have been pressed on a button, which left the focus to this.
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
