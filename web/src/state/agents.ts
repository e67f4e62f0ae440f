import { type Agent, type AgentProblem, getAgents } from "@/api";
import { oneOf, stored } from "@/state/stored";
import { Store, useStore } from "@/store";

export const DEMO = "demo";

/**
 * Demo mode: new turns go to the demo agent, over the same path as to other agents. Stored as plain text,
 * since other programs read and write it too.
 */
const isMode = oneOf("demo", "live");
export const mode = stored<"demo" | "live">("app-mode", "live", isMode, undefined, String);

/** The last selected agent, for chats without answers. */
const isWord = (value: unknown): value is string => typeof value === "string";
export const preferred = stored<string>("mobox:agent", "", isWord);

interface State {
  agents: Agent[];
  /** The server's default, by id. */
  preset?: string;
  problems: AgentProblem[];
  phase: "loading" | "ready" | "failed";
}
const state = new Store<State>({ agents: [], problems: [], phase: "loading" });

export const agents = {
  use: () => useStore(state).agents,
  usePreset: () => useStore(state).preset,
  useProblems: () => useStore(state).problems,
  useFailed: () => useStore(state).phase === "failed",
  get: () => state.get().agents,
  async load(): Promise<void> {
    try {
      const { agents, default: preset, problems = [] } = await getAgents();
      state.set({ agents, preset: preset ?? undefined, problems, phase: "ready" });
    } catch {
      state.set({ phase: "failed" });
    }
  },
};

interface Choice {
  agents: Agent[];
  mode: "demo" | "live";
  /** The agent just selected for this chat. */
  picked?: string;
  /** The agent of its last run. */
  last?: string;
  preferred?: string;
  /** The server's default. */
  preset?: string;
}

/** The agent for the next turn: the first of these that exists, else the first of all. */
export function nextAgent(choice: Choice): Agent | undefined {
  const { agents: known } = choice;
  const named = choice.mode === "demo" ? [DEMO] : [];
  const wanted = [...named, choice.picked, choice.last, choice.preferred, choice.preset];
  for (const id of wanted) {
    const found = known.find((agent) => agent.id === id);
    if (found) return found;
  }
  return known[0];
}

/** The demo agent is the only one: demo mode cannot be turned off. */
export const isOnlyDemo = (known: Agent[]) => known.length === 1 && known[0]?.id === DEMO;
