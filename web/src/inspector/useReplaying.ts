import { useEffect, useRef, useState } from "react";
import type { Entry } from "@/inspector/entries";
import { messageOf } from "@/inspector/replaying";
import { type Replay, replays } from "@/state/replay";

/** What is made of the log up to there; how long the log is by now is told when it is shown. */
type Moment = Omit<Replay, "of"> & { runId: string; until: readonly Entry[] };
type Wanted = Omit<Moment, "message">;

/**
 * Makes the messages of moments, one after the other: of those that were wanted meanwhile only the last
 * one is made, and what was begun is shown, so that something is however fast the slider moves.
 */
class Replayer {
  #wanted: Wanted | undefined;
  #isBusy = false;
  #isLeft = true;

  constructor(readonly show: (moment: Moment) => void) {}

  want(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#isLeft = false;
    if (!this.#isBusy) void this.#make();
  }

  /** Nothing is shown any more, not even what was begun. */
  leave(): void {
    this.#wanted = undefined;
    this.#isLeft = true;
  }

  async #make(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#wanted) {
        const wanted = this.#wanted;
        this.#wanted = undefined;
        const message = await messageOf(wanted.runId, wanted.until);
        if (!this.#isLeft) this.show({ ...wanted, message });
      }
    } finally {
      this.#isBusy = false;
    }
  }
}

/** Shows the message as it was there, in its place, as long as the slider is not at its end. */
export function useReplaying(
  runId: string,
  entries: readonly Entry[],
  at: number | undefined,
  leave: () => void,
): void {
  const log = useRef(entries);
  log.current = entries;
  const [replayer] = useState(
    () => new Replayer((moment) => replays.set({ shown: { ...moment, of: log.current.length } })),
  );
  // What comes later changes nothing of what was: only another moment is another message.
  useEffect(() => {
    if (at === undefined) {
      replayer.leave();
      return replays.set({ shown: undefined });
    }
    const until = log.current.slice(0, at);
    const live = until.at(-1)?.event.type !== "done";
    replayer.want({ runId, until, live, at, leave });
  }, [replayer, runId, at, leave]);
  const of = entries.length;
  useEffect(() => {
    const { shown } = replays.get();
    if (shown && shown.of !== of) replays.set({ shown: { ...shown, of } });
  }, [of]);
  useEffect(
    () => () => {
      replayer.leave();
      replays.set({ shown: undefined });
    },
    [replayer],
  );
}
