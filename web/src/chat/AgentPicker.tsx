import { ChevronsUpDown } from "lucide-react";
import type { Agent } from "@/api";
import { isHidden } from "@/brand";
import { AgentIcon } from "@/chat/AgentIcon";
import type { AgentChoice } from "@/chat/useAgentChoice";
import { frame } from "@/frame";
import { agents, DEMO } from "@/state/agents";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuChoice, MenuLine, MenuNote } from "@/ui/Menu";
import { NameWithNote } from "@/ui/NameWithNote";

interface AgentPickerProps {
  choice: AgentChoice;
  /** The page names the agent elsewhere. */
  isNamed?: boolean;
}

/**
 * Selects the agent for the next message. Only a name where there is one agent. The list is read again when it is
 * opened: agents may have been added.
 */
export function AgentPicker({ choice, isNamed = false }: AgentPickerProps) {
  const { known, next, hasDemo, isOnlyDemo, pick } = choice;
  // The header has a switch for the demo agent.
  const offered = hasDemo && !isOnlyDemo ? known.filter(({ id }) => id !== DEMO) : known;
  const hasFailed = agents.useFailed();
  const problems = agents.useProblems();
  if (isHidden("agents") || frame.agent) return null;
  if (!next) return hasFailed ? <Failed /> : null;
  if (known.length < 2 && problems.length === 0) {
    return isNamed ? null : (
      <span className="flex items-center gap-1.5 px-2 text-mono text-ink-2">
        <AgentIcon icon={next.icon} />
        <NameWithNote name={next.name} note={modelOf(next)} />
      </span>
    );
  }
  return (
    <Menu
      align="start"
      side="top"
      isWide
      onOpen={() => void agents.load()}
      trigger={
        <button
          type="button"
          aria-label={strings.shell.agent(next.name, modelOf(next))}
          className="flex min-h-9 max-w-full items-center gap-1.5 rounded-lg px-2 text-mono text-ink-2 hover:bg-ground-3 hover:text-ink max-md:min-h-11"
        >
          <AgentIcon icon={isNamed ? undefined : next.icon} />
          <NameWithNote name={isNamed ? strings.chat.agent : next.name} note={modelOf(next)} />
          <ChevronsUpDown aria-hidden className="size-3.5 shrink-0" />
        </button>
      }
    >
      <MenuChoice
        label={strings.shell.agents}
        value={next.id}
        onChoose={pick}
        options={offered.map((agent) => ({
          value: agent.id,
          icon: (
            <span className="flex h-5 items-center self-start mt-1.5">
              <AgentIcon icon={agent.icon} />
            </span>
          ),
          name: agent.name,
          note: modelOf(agent),
          line: agent.description,
          more: agent.notice,
          isProblem: agent.availability !== "installs",
          disabled: agent.availability === "unavailable",
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
