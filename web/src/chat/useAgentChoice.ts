import { useState } from "react";
import type { Agent } from "@/api";
import { agents, DEMO, isOnlyDemo, mode, nextAgent, preferred } from "@/state/agents";

export interface AgentChoice {
  known: Agent[];
  next: Agent | undefined;
  hasDemo: boolean;
  /** The demo agent is the only one. */
  isOnlyDemo: boolean;
  /** Demo mode is on. */
  isDemo: boolean;
  setDemo: (on: boolean) => void;
  pick: (id: string) => void;
}

/** The agent for the next turn of a chat, and a function to select another. */
export function useAgentChoice(last: string | undefined): AgentChoice {
  const known = agents.use();
  const [how, setMode] = mode.use();
  const [remembered, remember] = preferred.use();
  const [picked, setPicked] = useState<string>();
  const isOnly = isOnlyDemo(known);
  const isDemo = how === "demo" || isOnly;
  const agentFor = (how: "demo" | "live", from = known) =>
    nextAgent({ agents: from, mode: how, picked, last, preferred: remembered });
  return {
    known,
    next: agentFor(isDemo ? "demo" : "live"),
    hasDemo: known.some(({ id }) => id === DEMO),
    isOnlyDemo: isOnly,
    isDemo,
    setDemo: (on) => {
      setMode(on ? "demo" : "live");
      if (on || agentFor("live")?.id !== DEMO) return;
      // The demo agent answered last; with demo mode off, another agent is selected.
      const others = known.filter(({ id }) => id !== DEMO);
      setPicked(agentFor("live", others)?.id);
    },
    pick: (id) => {
      setPicked(id);
      if (id !== DEMO) {
        remember(id);
        setMode("live");
      }
    },
  };
}
