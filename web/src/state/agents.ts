import { type Agent, getAgents } from "@/api";
import { oneOf, stored } from "@/state/stored";
import { Store, useStore } from "@/store";

export const DEMO = "demo";

/**
 * Demo mode: new turns go to the demo agent, through everything that others go through. Stored as a
 * bare word, since others read and write it too.
 */
const isMode = oneOf("demo", "live");
export const mode = stored<"demo" | "live">("app-mode", "live", isMode, undefined, String);

/** Whom the person chose last, for chats in which nobody answered yet. */
const isWord = (value: unknown): value is string => typeof value === "string";
export const preferred = stored<string>("mobox:agent", "", isWord);

const state = new Store<{ agents: Agent[]; phase: "loading" | "ready" | "failed" }>({
  agents: [],
  phase: "loading",
});

export const agents = {
  use: () => useStore(state).agents,
  useFailed: () => useStore(state).phase === "failed",
  get: () => state.get().agents,
  async load(): Promise<void> {
    try {
      state.set({ agents: await getAgents(), phase: "ready" });
    } catch {
      state.set({ phase: "failed" });
    }
  },
};

interface Choice {
  agents: Agent[];
  mode: "demo" | "live";
  /** Whom the person chose for this chat, just now. */
  picked?: string;
  /** Who answered last in it. */
  last?: string;
  preferred?: string;
}

/** Who answers the next turn: the first of these that exists; else whoever the server takes. */
export function nextAgent(choice: Choice): Agent | undefined {
  const { agents: known } = choice;
  const named = choice.mode === "demo" ? [DEMO] : [];
  const wanted = [...named, choice.picked, choice.last, choice.preferred];
  for (const id of wanted) {
    const found = known.find((agent) => agent.id === id);
    if (found) return found;
  }
  return known[0];
}

/** Whether there is nobody but the demo agent: then demo mode cannot be left. */
export const isOnlyDemo = (known: Agent[]) => known.length === 1 && known[0]?.id === DEMO;
