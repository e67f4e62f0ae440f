import { useState } from "react";
import type { Agent } from "@/api";
import { agents, DEMO, isOnlyDemo, mode, nextAgent, preferred } from "@/state/agents";

export interface AgentChoice {
  known: Agent[];
  next: Agent | undefined;
  hasDemo: boolean;
  pick: (id: string) => void;
}

/** Who answers the next turn of a chat, and how a person says that it is somebody else. */
export function useAgentChoice(last: string | undefined): AgentChoice {
  const known = agents.use();
  const [how, setMode] = mode.use();
  const [remembered, remember] = preferred.use();
  const [picked, setPicked] = useState<string>();
  const isDemo = how === "demo" || isOnlyDemo(known);
  return {
    known,
    next: nextAgent({
      agents: known,
      mode: isDemo ? "demo" : "live",
      picked,
      last,
      preferred: remembered,
    }),
    hasDemo: known.some(({ id }) => id === DEMO),
    pick: (id) => {
      setPicked(id);
      if (id !== DEMO) {
        remember(id);
        setMode("live");
      }
    },
  };
}
