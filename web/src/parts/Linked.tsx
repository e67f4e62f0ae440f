import type { ReactNode } from "react";
import { MADE, RUN, usePointed, write } from "@/state/links";

interface LinkedProps {
  run: string;
  /** The ids of the block's parts. */
  made: readonly string[] | undefined;
  /** Stays at the top while its message is scrolled. */
  pinned?: boolean;
  children: ReactNode;
}

const NONE: readonly string[] = [];

/** A block that the inspector can find by its parts' ids; highlighted while one of them is hovered. */
export function Linked({ run, made = NONE, pinned, children }: LinkedProps) {
  const pointed = usePointed(run, made);
  return (
    <div
      {...{ [RUN]: run, [MADE]: write(made) }}
      data-pointed={pointed || undefined}
      className={pinned ? "sticky top-1 z-10" : undefined}
    >
      {children}
    </div>
  );
}
