import { ListFilter, X } from "lucide-react";
import { agents } from "@/state/agents";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { Menu, MenuChoice } from "@/ui/Menu";

interface AgentFilterProps {
  /** The agent's id; empty for all. */
  agent: string;
  onAgent: (agent: string) => void;
}

/** Shows the chats of one agent only; not there where there is only one. */
export function AgentFilter({ agent, onAgent }: AgentFilterProps) {
  const known = agents.use();
  if (known.length < 2 && !agent) return null;
  const options = known.map(({ id, name, icon }) => ({
    value: id,
    name,
    icon: icon && <span aria-hidden>{icon}</span>,
  }));
  return (
    <Menu
      trigger={
        <IconButton
          label={strings.sidebar.filter}
          className={agent ? "border-accent text-accent" : "bg-ground"}
          kind="outline"
        >
          <ListFilter aria-hidden />
        </IconButton>
      }
    >
      <MenuChoice
        label={strings.sidebar.filter}
        value={agent}
        onChoose={onAgent}
        options={[{ value: "", name: strings.sidebar.allAgents }, ...options]}
      />
    </Menu>
  );
}

/** The chosen agent, and the button that shows all chats again. */
export function FilteredBy({ agent, onAgent }: AgentFilterProps) {
  const known = agents.use();
  if (!agent) return null;
  const name = known.find(({ id }) => id === agent)?.name ?? agent;
  return (
    <p className="flex items-center justify-between gap-2 ps-1 text-mono text-ink-2">
      <span className="min-w-0 truncate">{strings.sidebar.filteredBy(name)}</span>
      <IconButton label={strings.sidebar.allAgents} onClick={() => onAgent("")}>
        <X aria-hidden />
      </IconButton>
    </p>
  );
}
