import type { ReactNode } from "react";
import { MADE, RUN, usePointed, write } from "@/state/links";

interface LinkedProps {
  run: string;
  /** The ids of the parts that the block is made of. */
  made: readonly string[] | undefined;
  children: ReactNode;
}

const NONE: readonly string[] = [];

/** A block that can be found by the parts it is made of, and is marked while somebody points at one. */
export function Linked({ run, made = NONE, children }: LinkedProps) {
  const pointed = usePointed(run, made);
  return (
    <div {...{ [RUN]: run, [MADE]: write(made) }} data-pointed={pointed || undefined}>
      {children}
    </div>
  );
}
