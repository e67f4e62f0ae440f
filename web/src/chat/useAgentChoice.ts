import { useState } from "react";
import type { Agent } from "@/api";
import { frame } from "@/frame";
import { agents, DEMO, isOnlyDemo, mode, nextAgent, preferred } from "@/state/agents";

export interface AgentChoice {
  known: Agent[];
  next: Agent | undefined;
  hasDemo: boolean;
  /** The demo agent is the only one. */
  isOnlyDemo: boolean;
  /** The demo agent answers next: demo mode is on, or it has answered last. */
  isDemo: boolean;
  setDemo: (on: boolean) => void;
  pick: (id: string) => void;
}

/** The agent for the next turn of a chat, and a function to select another. */
export function useAgentChoice(last: string | undefined): AgentChoice {
  const known = agents.use();
  const preset = agents.usePreset();
  const [how, setMode] = mode.use();
  const [remembered, remember] = preferred.use();
  const [picked, setPicked] = useState(frame.agent);
  const isOnly = isOnlyDemo(known);
  const agentFor = (how: "demo" | "live", from = known) =>
    nextAgent({ agents: from, mode: how, picked, last, preferred: remembered, preset });
  const next = agentFor(frame.agent ? "live" : how);
  return {
    known,
    next,
    hasDemo: known.some(({ id }) => id === DEMO),
    isOnlyDemo: isOnly,
    isDemo: next?.id === DEMO,
    setDemo: (on) => {
      setMode(on ? "demo" : "live");
      if (on || agentFor("live")?.id !== DEMO) return;
      // The demo agent answered last; with demo mode off, another agent is selected.
      const others = known.filter(({ id }) => id !== DEMO);
      setPicked(agentFor("live", others)?.id);
    },
    pick: (id) => {
      setPicked(id);
      remember(id);
      setMode(id === DEMO ? "demo" : "live");
    },
  };
}
