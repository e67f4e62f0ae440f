import { Menu as MenuIcon } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { ChatMenu } from "@/chat/ChatMenu";
import { DemoSwitch } from "@/chat/DemoSwitch";
import type { Whole } from "@/chat/exporting";
import type { AgentChoice } from "@/chat/useAgentChoice";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface HeaderProps {
  title: string;
  /** There is something to rename, export and delete. */
  isStored: boolean;
  choice: AgentChoice;
  whole: () => Promise<Whole>;
  onRename: () => void;
  onDelete: () => void;
  onOpenChats: () => void;
}

/** What the chat is called, who answers, and what can be done with the whole of it. */
export function Header(props: HeaderProps) {
  const { choice } = props;
  const [said, say] = useSaid();
  return (
    <TopBar onOpenChats={props.onOpenChats}>
      <Title title={props.title} onRename={props.isStored ? props.onRename : undefined} />
      <span className="min-w-0 flex-1 truncate text-block text-ink-2 max-md:hidden">
        {!choice.isOnlyDemo && choice.next?.name}
      </span>
      <span role="status" className="shrink-0 text-block text-ink-2 max-md:max-w-32">
        {said}
      </span>
      <DemoSwitch choice={choice} />
      {props.isStored && (
        <ChatMenu
          whole={props.whole}
          onRename={props.onRename}
          onDelete={props.onDelete}
          onSay={say}
        />
      )}
    </TopBar>
  );
}

function Title({ title, onRename }: { title: string; onRename?: () => void }) {
  return (
    <h1 title={title} className="min-w-0 truncate text-sm font-semibold max-md:flex-1">
      {onRename ? (
        <button
          type="button"
          onClick={onRename}
          className="block max-w-full truncate rounded-small px-1 text-left hover:bg-ground-3 max-md:min-h-11"
        >
          {title}
        </button>
      ) : (
        title
      )}
    </h1>
  );
}

interface TopBarProps {
  onOpenChats: () => void;
  children: ReactNode;
}

/** What stands above everything; on a narrow page it has the way to the chats. */
export function TopBar({ onOpenChats, children }: TopBarProps) {
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b px-2 md:px-4">
      <IconButton label={strings.shell.openChats} className="md:hidden" onClick={onOpenChats}>
        <MenuIcon aria-hidden />
      </IconButton>
      {children}
    </header>
  );
}

const SHOWN = 3_000;

/** Words that are there for a moment. */
function useSaid(): readonly [string, (words: string) => void] {
  const [said, setSaid] = useState({ words: "" });
  useEffect(() => {
    if (!said.words) return;
    const timer = setTimeout(() => setSaid({ words: "" }), SHOWN);
    return () => clearTimeout(timer);
  }, [said]);
  return [said.words, (words) => setSaid({ words })];
}
