import { ChevronDown } from "lucide-react";
import { Collapsible } from "radix-ui";
import type { ReactNode } from "react";
import { classes } from "@/ui/classes";

interface FoldProps {
  open: boolean;
  onToggle: (open: boolean) => void;
  /** The content of the header row. */
  head: ReactNode;
  children: ReactNode;
  className?: string;
  headClassName?: string;
}

/** A collapsible block with animated height, controlled by its parent. */
export function Fold({ open, onToggle, head, children, className, headClassName }: FoldProps) {
  return (
    <Collapsible.Root open={open} onOpenChange={onToggle} className={className}>
      <Collapsible.Trigger
        className={classes(
          "group flex min-h-10 w-full items-center gap-2 rounded-block px-3 text-start text-block",
          "focus-visible:outline-offset-[-2px] max-md:min-h-11",
          headClassName,
        )}
      >
        {head}
        <ChevronDown
          aria-hidden
          className="ms-auto size-4 shrink-0 transition-transform duration-200 group-data-[state=open]:rotate-180"
        />
      </Collapsible.Trigger>
      <Collapsible.Content className="overflow-hidden data-[state=closed]:animate-fold-in data-[state=open]:animate-fold-out">
        {children}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}
