/** Events have the colours of their blocks; the type's name is always shown too. */
const FAMILIES: [pattern: RegExp, ink: string][] = [
  [/^(error|retract|raw)$/, "text-bad"],
  [/^thinking/, "text-thinking"],
  [/^(status|step_|subagent_|todo_)/, "text-processing"],
  [/^(tool_|input_|paused)/, "text-running"],
  [/^text/, "text-accent"],
  [/^(start|done|result|usage)$/, "text-ok"],
];

export const inkOf = (type: string): string =>
  FAMILIES.find(([pattern]) => pattern.test(type))?.[1] ?? "text-ink-2";
