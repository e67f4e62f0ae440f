import { useEffect, useState } from "react";
import { ChatMenu } from "@/chat/ChatMenu";
import { ChatUsage } from "@/chat/ChatUsage";
import { DemoSwitch } from "@/chat/DemoSwitch";
import type { Whole } from "@/chat/exporting";
import type { ChatFacts } from "@/chat/facts";
import type { AgentChoice } from "@/chat/useAgentChoice";
import { PanelButton } from "@/panel/PanelButton";
import { TopBar } from "@/ui/TopBar";

interface HeaderProps {
  title: string;
  /** The chat exists: it can be renamed, exported and deleted. */
  isStored: boolean;
  choice: AgentChoice;
  facts: ChatFacts;
  whole: () => Promise<Whole>;
  onRename: () => void;
  onPermissions: () => void;
  onShare: () => void;
  onDelete: () => void;
  onOpenChats: () => void;
}

/** The chat's title, the demo switch and the chat menu. */
export function Header(props: HeaderProps) {
  const [status, showStatus] = useStatus();
  return (
    <TopBar onOpenChats={props.onOpenChats}>
      <Title title={props.title} onRename={props.isStored ? props.onRename : undefined} />
      <span className="flex-1 max-md:hidden" />
      <span role="status" className="shrink-0 text-block text-ink-2 max-md:max-w-32">
        {status}
      </span>
      <ChatUsage facts={props.facts} />
      <DemoSwitch choice={props.choice} />
      <PanelButton />
      {props.isStored && (
        <ChatMenu
          whole={props.whole}
          facts={props.facts}
          onRename={props.onRename}
          onPermissions={props.onPermissions}
          onShare={props.onShare}
          onDelete={props.onDelete}
          onStatus={showStatus}
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
          className="block max-w-full truncate rounded-small px-1 text-start hover:bg-ground-3 max-md:min-h-11"
        >
          {title}
        </button>
      ) : (
        title
      )}
    </h1>
  );
}

const SHOWN = 3_000;

/** A message that disappears after a moment. */
function useStatus(): readonly [string, (words: string) => void] {
  const [status, setStatus] = useState({ words: "" });
  useEffect(() => {
    if (!status.words) return;
    const timer = setTimeout(() => setStatus({ words: "" }), SHOWN);
    return () => clearTimeout(timer);
  }, [status]);
  return [status.words, (words) => setStatus({ words })];
}
