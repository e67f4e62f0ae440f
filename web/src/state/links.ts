import { useCallback, useSyncExternalStore } from "react";
import { Store } from "@/store";

/**
 * The hovered or focused parts of a run's message, by id. The inspector highlights the parts that a row
 * made, and the rows of a hovered block.
 */
interface Pointed {
  runId?: string;
  ids: readonly string[];
  /** The side that is hovered. */
  from?: "rows" | "parts";
}

export const NOWHERE: Pointed = { ids: [] };
export const links = new Store<Pointed>(NOWHERE);

/** The data attributes that identify blocks in the DOM. */
export const RUN = "data-run";
export const MADE = "data-made";

/** Ids as an attribute's value, in JSON: they are arbitrary strings of agents and models. */
export const write = (ids: readonly string[]): string => JSON.stringify(ids);
export const read = (text: string): string[] => JSON.parse(text);

/** Sets the link, if it differs. */
export function point(pointed: Pointed): void {
  const { runId, ids, from } = links.get();
  const isThere =
    runId === pointed.runId && from === pointed.from && write(ids) === write(pointed.ids);
  if (!isThere) links.set({ runId: undefined, from: undefined, ...pointed });
}

/** Whether one of these parts is linked, from anywhere or from the given side. */
export function usePointed(runId: string, ids: readonly string[], from?: Pointed["from"]): boolean {
  const isPointed = useCallback(() => {
    const now = links.get();
    const isMeant = now.runId === runId && (from === undefined || from === now.from);
    return isMeant && ids.some((id) => now.ids.includes(id));
  }, [runId, ids, from]);
  return useSyncExternalStore(links.subscribe, isPointed);
}
