import type { UIMessage } from "ai";
import { useCallback, useSyncExternalStore } from "react";
import { Store } from "@/store";

/** A message as of one event of its run, shown in place of the real one. */
export interface Replay {
  message: UIMessage;
  /** The run continued after it. */
  live: boolean;
  /** The last entry included. */
  at: number;
  /** Ends the replay. */
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
