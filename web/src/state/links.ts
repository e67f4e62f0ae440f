import { useCallback, useSyncExternalStore } from "react";
import { Store } from "@/store";

/**
 * What is pointed at: some parts of the message of a run, by their ids. The inspector points at what a
 * row made, and sees what of a message is pointed at; so each shows the other.
 */
interface Pointed {
  runId?: string;
  ids: readonly string[];
  /** Where the person points. */
  from?: "rows" | "parts";
}

export const NOWHERE: Pointed = { ids: [] };
export const links = new Store<Pointed>(NOWHERE);

/** The attributes by which blocks of a message are known to who looks at the page. */
export const RUN = "data-run";
export const MADE = "data-made";

/** Ids as the value of an attribute: they are whatever agents and models made them. */
export const write = (ids: readonly string[]): string => JSON.stringify(ids);
export const read = (text: string): string[] => JSON.parse(text);

/** Points there; who points there already is left alone. */
export function point(pointed: Pointed): void {
  const { runId, ids, from } = links.get();
  const isThere =
    runId === pointed.runId && from === pointed.from && write(ids) === write(pointed.ids);
  if (!isThere) links.set({ runId: undefined, from: undefined, ...pointed });
}

/** Whether somebody points at one of these parts of a run's message, from anywhere or from there. */
export function usePointed(runId: string, ids: readonly string[], from?: Pointed["from"]): boolean {
  const isPointed = useCallback(() => {
    const now = links.get();
    const isMeant = now.runId === runId && (from === undefined || from === now.from);
    return isMeant && ids.some((id) => now.ids.includes(id));
  }, [runId, ids, from]);
  return useSyncExternalStore(links.subscribe, isPointed);
}
