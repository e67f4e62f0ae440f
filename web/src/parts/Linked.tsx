import type { ReactNode } from "react";
import { MADE, RUN, usePointed, write } from "@/state/links";

interface LinkedProps {
  run: string;
  /** The ids of the block's parts. */
  made: readonly string[] | undefined;
  children: ReactNode;
}

const NONE: readonly string[] = [];

/** A block that the inspector can find by its parts' ids; highlighted while one of them is hovered. */
export function Linked({ run, made = NONE, children }: LinkedProps) {
  const pointed = usePointed(run, made);
  return (
    <div {...{ [RUN]: run, [MADE]: write(made) }} data-pointed={pointed || undefined}>
      {children}
    </div>
  );
}
