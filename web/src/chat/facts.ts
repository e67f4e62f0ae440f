import { createContext, useContext } from "react";
import {
  type Feedback,
  type Fork,
  getFeedback,
  getForks,
  getMadeFiles,
  getRunsOf,
  giveFeedback,
  type MadeFile,
  type Opinion,
  type RunFacts,
  type TokenCounts,
  takeBackFeedback,
} from "@/api";
import { Store, useStore } from "@/store";

interface Known {
  /** By the id of the message that is shown. */
  forks: ReadonlyMap<string, Fork>;
  /** By the id of the answer, in the order of the runs. */
  runs: ReadonlyMap<string, RunFacts>;
  totals?: TokenCounts;
  feedback: ReadonlyMap<string, Feedback>;
  /** The files that agents made in the chat, the newest first. */
  made: readonly MadeFile[];
}

/**
 * What the server knows about a chat's answers besides their content: versions, agents, models, tokens,
 * feedback. Read apart from the messages, so that it is the same in every protocol.
 */
export class ChatFacts {
  readonly state = new Store<Known>({
    forks: new Map(),
    runs: new Map(),
    feedback: new Map(),
    made: [],
  });
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(readonly chat: string) {}

  /** Reads everything; a call during a read causes another one. Keeps what is known on failure. */
  load = (): Promise<void> => {
    this.#isStale = true;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  };

  async #read(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      try {
        this.state.set(await readAll(this.chat));
      } catch {
        // The next change of the chat reads it again.
      }
    }
  }

  /** Those of another branch, which is shown next: the others stay until `load`. */
  addForks(forks: Fork[]): void {
    const known = this.state.get().forks;
    this.state.set({ forks: new Map([...known, ...byMessage(forks)]) });
  }

  /** Throws if the server has not stored it. */
  rate = async (runId: string, value: Opinion, comment = ""): Promise<void> => {
    const given = await giveFeedback(this.chat, { runId, value, comment });
    this.#setFeedback(runId, given);
  };

  takeBack = async (runId: string): Promise<void> => {
    await takeBackFeedback(this.chat, runId);
    this.#setFeedback(runId, undefined);
  };

  #setFeedback(runId: string, given: Feedback | undefined): void {
    const feedback = new Map(this.state.get().feedback);
    if (given) feedback.set(runId, given);
    else feedback.delete(runId);
    this.state.set({ feedback });
  }
}

const byMessage = (forks: Fork[]) => new Map(forks.map((fork) => [fork.messageId, fork]));

async function readAll(chat: string): Promise<Known> {
  const [forks, { runs, totals }, feedback, made] = await Promise.all([
    getForks(chat),
    getRunsOf(chat),
    getFeedback(chat),
    // The rest is known without the files, which may be on another machine.
    getMadeFiles(chat).then(
      ({ files }) => files,
      () => [],
    ),
  ]);
  return {
    forks: byMessage(forks),
    runs: new Map(runs.map((run) => [run.id, run])),
    totals,
    feedback: new Map(feedback.map((given) => [given.runId, given])),
    made,
  };
}

/** An agent may still write while its run is being ended, in ms. */
const AFTERWARDS = 2_000;

/** The files that were last written during a run that has ended. */
export function madeIn({ runs, made }: Known, runId: string): MadeFile[] {
  const { startedAt = 0, endedAt = null } = runs.get(runId) ?? {};
  if (endedAt === null) return [];
  const later = [...runs.values()].map((run) => run.startedAt).filter((start) => start > startedAt);
  const end = Math.min(endedAt + AFTERWARDS, ...later);
  return made.filter(({ modifiedAt }) => startedAt <= modifiedAt && modifiedAt < end);
}

const Context = createContext(new ChatFacts(""));
export const FactsProvider = Context.Provider;

export const useFacts = (): ChatFacts => useContext(Context);
const useKnown = () => useStore(useFacts().state);
export const useFork = (messageId: string) => useKnown().forks.get(messageId);
export const useRunFacts = (runId: string) => useKnown().runs.get(runId);
export const useMadeIn = (runId: string) => madeIn(useKnown(), runId);
export const useFeedback = (runId: string) => useKnown().feedback.get(runId);
