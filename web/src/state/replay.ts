import type { UIMessage } from "ai";
import { useCallback, useSyncExternalStore } from "react";
import { Store } from "@/store";

/** A message as it was at a moment of its run, which is shown in its place. */
export interface Replay {
  message: UIMessage;
  /** The run went on from there. */
  live: boolean;
  /** Which entry of the log it is up to. */
  at: number;
  /** Back to the present. */
  leave: () => void;
}

export const replays = new Store<{ shown?: Replay }>({});

/** The replay of this message, if there is one. */
export function useReplay(messageId: string): Replay | undefined {
  const shown = useCallback(() => {
    const replay = replays.get().shown;
    return replay?.message.id === messageId ? replay : undefined;
  }, [messageId]);
  return useSyncExternalStore(replays.subscribe, shown);
}
