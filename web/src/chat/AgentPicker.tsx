import { Bot, ChevronsUpDown } from "lucide-react";
import type { Agent } from "@/api";
import type { AgentChoice } from "@/chat/useAgentChoice";
import { agents } from "@/state/agents";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuLine, MenuNote } from "@/ui/Menu";
import { NameWithNote } from "@/ui/NameWithNote";

/**
 * Selects the agent for the next message. Only a name where there is one agent. The list is read again when it is
 * opened: agents may have been added.
 */
export function AgentPicker({ choice }: { choice: AgentChoice }) {
  const { known, next, pick } = choice;
  const hasFailed = agents.useFailed();
  const problems = agents.useProblems();
  if (!next) return hasFailed ? <Failed /> : null;
  if (known.length < 2 && problems.length === 0) {
    return (
      <span className="flex items-center gap-1.5 px-2 text-mono text-ink-2">
        <Bot aria-hidden className="size-4 shrink-0" />
        <NameWithNote name={next.name} note={modelOf(next)} />
      </span>
    );
  }
  return (
    <Menu
      align="start"
      side="top"
      onOpen={() => void agents.load()}
      trigger={
        <button
          type="button"
          aria-label={strings.shell.agent(next.name, modelOf(next))}
          className="flex min-h-9 max-w-full items-center gap-1.5 rounded-lg px-2 text-mono text-ink-2 hover:bg-ground-3 hover:text-ink max-md:min-h-11"
        >
          <Bot aria-hidden className="size-4 shrink-0" />
          <NameWithNote name={next.name} note={modelOf(next)} />
          <ChevronsUpDown aria-hidden className="size-3.5 shrink-0" />
        </button>
      }
    >
      <MenuChoice
        label={strings.shell.agents}
        value={next.id}
        onChoose={pick}
        options={known.map((agent) => ({
          value: agent.id,
          name: agent.name,
          note: modelOf(agent),
          line: agent.description,
        }))}
      />
      {problems.length > 0 && <MenuLine />}
      {problems.map(({ id, message }) => (
        <MenuNote key={id} name={strings.shell.agentBroken(id)} line={message} />
      ))}
    </Menu>
  );
}

/** Where its model is, if that is worth a note. */
const modelOf = ({ model }: Agent) => (model ? strings.models[model] : undefined);

const Failed = () => (
  <span className="flex flex-wrap items-center gap-x-2 px-2 text-mono text-ink-2">
    <span role="status">{strings.shell.agentsFailed}</span>
    <Button kind="quiet" onClick={() => void agents.load()}>
      {strings.retry}
    </Button>
  </span>
);
