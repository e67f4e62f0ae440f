"""The sources of raw events: an agent's process, a function agent, a recording."""
