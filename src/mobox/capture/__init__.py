"""Where raw events come from: an agent's process, an in-process agent, a recording."""
