import type { ComponentProps, ReactNode } from "react";
import { classes } from "@/ui/classes";

const KINDS = {
  solid: "bg-accent text-accent-ink hover:opacity-90",
  outline: "border hover:bg-ground-3",
  quiet: "hover:bg-ground-3",
  danger: "border border-bad-line text-bad hover:bg-bad-ground",
};

interface ButtonProps extends ComponentProps<"button"> {
  kind?: keyof typeof KINDS;
}

/** A button with a text label. */
export function Button({ kind = "outline", className, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(
        "inline-flex min-h-9 items-center justify-center gap-2 rounded-lg px-3 text-block font-medium",
        "transition-colors disabled:opacity-50 max-md:min-h-11",
        KINDS[kind],
        className,
      )}
    />
  );
}

interface IconButtonProps extends Omit<ButtonProps, "aria-label" | "title"> {
  /** The accessible name and tooltip. */
  label: string;
  children: ReactNode;
}

/** An icon button. */
export function IconButton({ label, kind = "quiet", className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={classes(
        "inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-ink-2",
        "transition-colors hover:text-ink disabled:opacity-50 max-md:size-11 [&_svg]:size-4",
        KINDS[kind],
        className,
      )}
    />
  );
}
