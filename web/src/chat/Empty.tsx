import { DEMO } from "@/state/agents";
import { strings } from "@/strings";
import { toComposer } from "@/ui/focus";

const { prompts } = strings.chat;

interface WelcomeProps {
  agent: { id: string; name: string } | undefined;
}

/** Shown in an empty chat. */
export function Welcome({ agent }: WelcomeProps) {
  const isDemo = agent?.id === DEMO;
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-col items-center px-4 text-center max-md:mt-auto md:pb-6">
      <h2 className="text-2xl font-semibold tracking-tight text-balance">
        {strings.chat.emptyTitle}
      </h2>
      <p className="mt-1 text-ink-2 text-balance">
        {isDemo ? strings.chat.emptyDemo : strings.chat.emptyLine(agent?.name)}
      </p>
    </div>
  );
}

interface Prompt {
  label: string;
  text: string;
  agent?: string;
}
const MOST = 4;

interface PromptsProps {
  agent: { id: string } | undefined;
  /** The demo agent is installed. */
  hasDemo: boolean;
  onChoose: (text: string, agent?: string) => void;
}

/** Suggested first messages: commands of the demo agent, or questions for other agents. */
export function Prompts({ agent, hasDemo, onChoose }: PromptsProps) {
  const isDemo = agent?.id === DEMO;
  const shown = hasDemo ? [{ ...prompts.every, agent: DEMO }] : [];
  const offered: Prompt[] = isDemo
    ? prompts.demo
    : [...prompts.others.slice(0, MOST - shown.length), ...shown];
  return (
    <ul className="mx-auto grid w-full max-w-3xl grid-cols-1 gap-2 px-4 py-4 max-md:mb-auto sm:grid-cols-2">
      {offered.map((prompt) => (
        <li key={prompt.label}>
          <button
            type="button"
            onClick={() => {
              onChoose(prompt.text, prompt.agent);
              toComposer(); // the clicked button disappears
            }}
            className="flex min-h-11 w-full items-center gap-3 rounded-block border px-4 py-2 text-left text-block transition-colors hover:bg-ground-2"
          >
            <span className="min-w-0 flex-1">{prompt.label}</span>
            {isDemo && (
              <code aria-hidden className="font-mono text-mono text-ink-2">
                {prompt.text}
              </code>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}
