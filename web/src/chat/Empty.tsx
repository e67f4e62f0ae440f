import type { Agent } from "@/api";
import { brand, isHidden } from "@/brand";
import { strings } from "@/strings";
import { toComposer } from "@/ui/focus";

interface WelcomeProps {
  agent: Agent | undefined;
  /** The demo agent is the only one. */
  isOnlyDemo?: boolean;
}

/** Shown in an empty chat: the agent that answers. */
export function Welcome({ agent, isOnlyDemo }: WelcomeProps) {
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-col items-center px-4 text-center max-md:mt-auto md:pb-6">
      {agent?.icon && (
        <span aria-hidden className="mb-2 text-4xl leading-none">
          {agent.icon}
        </span>
      )}
      <h2 className="text-2xl font-semibold tracking-tight text-balance">
        {brand.welcome ?? agent?.name ?? strings.chat.emptyTitle}
      </h2>
      <p className="mt-1 text-ink-2 text-balance">
        {agent?.description || strings.chat.emptyLine(agent?.name)}
      </p>
      {isOnlyDemo && <Note>{strings.chat.demoOnly}</Note>}
      {agent?.model === "simulated" && <Note>{strings.chat.simulated}</Note>}
      {agent?.notice && <Note>{agent.notice}</Note>}
    </div>
  );
}

const Note = ({ children }: { children: string }) => (
  <p className="mt-1 line-clamp-4 text-mono break-words text-ink-2">{children}</p>
);

interface StartersProps {
  agent: Agent | undefined;
  onChoose: (text: string) => void;
}

/** First messages: those that the agent suggests, else a few that any agent understands. */
export function startersOf(agent: Agent | undefined): string[] {
  if (agent?.starters?.length) return agent.starters;
  return brand.starters.length ? brand.starters : strings.chat.starters;
}

export function Starters({ agent, onChoose }: StartersProps) {
  if (isHidden("starters")) return null;
  return (
    <ul className="mx-auto grid w-full max-w-3xl grid-cols-1 gap-2 px-4 py-4 max-md:mb-auto sm:grid-cols-2">
      {startersOf(agent).map((text) => (
        <li key={text} className="flex">
          <button
            type="button"
            onClick={() => {
              onChoose(text);
              toComposer(); // the clicked button disappears
            }}
            className="min-h-11 w-full rounded-block border px-4 py-2 text-start text-block break-words transition-colors hover:bg-ground-2"
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}
