import { useEffect, useRef, useState } from "react";
import type { Entry } from "@/inspector/entries";
import { messageOf } from "@/inspector/replaying";
import { type Replay, replays } from "@/state/replay";

interface Wanted extends Omit<Replay, "message"> {
  runId: string;
  until: readonly Entry[];
}

/**
 * Builds replayed messages one at a time: of the positions requested meanwhile only the last is built, and
 * a started build is always shown, so that the view updates however fast the slider moves.
 */
class Replayer {
  #wanted: Wanted | undefined;
  #isBusy = false;
  #isLeft = true;

  constructor(readonly show: (replay: Replay) => void) {}

  want(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#isLeft = false;
    if (!this.#isBusy) void this.#make();
  }

  /** Cancels all, including a started build. */
  leave(): void {
    this.#wanted = undefined;
    this.#isLeft = true;
  }

  async #make(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#wanted) {
        const { runId, until, ...about } = this.#wanted;
        this.#wanted = undefined;
        const message = await messageOf(runId, until);
        if (!this.#isLeft) this.show({ ...about, message });
      }
    } finally {
      this.#isBusy = false;
    }
  }
}

/** Shows the replayed message in place of the real one while the slider is not at its end. */
export function useReplaying(
  runId: string,
  entries: readonly Entry[],
  at: number | undefined,
  leave: () => void,
): void {
  const log = useRef(entries);
  log.current = entries;
  const [replayer] = useState(() => new Replayer((shown) => replays.set({ shown })));
  // Later entries do not change earlier ones: build again only when the position changes.
  useEffect(() => {
    if (at === undefined) {
      replayer.leave();
      return replays.set({ shown: undefined });
    }
    const until = log.current.slice(0, at);
    const live = until.at(-1)?.event.type !== "done";
    replayer.want({ runId, until, live, at, leave });
  }, [replayer, runId, at, leave]);
  useEffect(
    () => () => {
      replayer.leave();
      replays.set({ shown: undefined });
    },
    [replayer],
  );
}
