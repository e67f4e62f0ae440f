import type { RunOrder } from "@/api";
import type { RunChoice } from "@/runPages/useRuns";
import { agents } from "@/state/agents";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.inspecting.runs;
const ORDERS: readonly RunOrder[] = ["newest", "slowest", "dearest"];
const OUTCOMES: readonly RunChoice["outcome"][] = [
  "all",
  "failed",
  "running",
  "waiting",
  "done",
  "stopped",
];

interface FiltersProps {
  choice: RunChoice;
  onChoose: (choice: RunChoice) => void;
}

/** The order of the list, and which runs are in it. */
export function Filters({ choice, onChoose }: FiltersProps) {
  const known = agents.use();
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2 border-b px-3 py-2 md:px-4">
      <fieldset className="flex gap-0.5 rounded-lg bg-ground-3 p-0.5">
        <legend className="sr-only">{words.order}</legend>
        {ORDERS.map((order) => (
          <label
            key={order}
            className={classes(
              "flex min-h-8 cursor-pointer items-center rounded-small px-2.5 text-mono font-medium has-focus-visible:outline-2 has-focus-visible:outline-accent max-md:min-h-10",
              choice.order === order ? "bg-ground shadow-sm" : "text-ink-2 hover:text-ink",
            )}
          >
            <input
              type="radio"
              name="order"
              className="sr-only"
              checked={choice.order === order}
              onChange={() => onChoose({ ...choice, order })}
            />
            {words.orders[order]}
          </label>
        ))}
      </fieldset>
      <Select
        label={words.state}
        value={choice.outcome}
        options={OUTCOMES.map((each) => [each, words.states[each]])}
        onChange={(outcome) => onChoose({ ...choice, outcome: outcome as RunChoice["outcome"] })}
      />
      <Select
        label={words.agent}
        value={choice.agent}
        options={[["", words.allAgents], ...known.map(({ id, name }) => [id, name] as const)]}
        onChange={(agent) => onChoose({ ...choice, agent })}
      />
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, name: string])[];
  onChange: (value: string) => void;
}

const Select = ({ label, value, options, onChange }: SelectProps) => (
  <label className="flex items-center gap-1.5 text-mono text-ink-2">
    {label}
    <select
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="h-9 max-w-40 rounded-lg border bg-ground px-2 text-mono text-ink max-md:h-11 max-md:text-[16px]"
    >
      {options.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </select>
  </label>
);
