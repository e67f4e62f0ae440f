import { useEffect } from "react";
import { strings } from "@/strings";

const isApple = /Mac|iP(hone|ad|od)/.test(navigator.platform);
export const MODIFIER = isApple ? "⌘" : "Ctrl ";

const { shortcuts: names } = strings.shell;

interface Actions {
  onSearch: () => void;
  onNew: () => void;
  onPanel: () => void;
  onSidebar: () => void;
  onHelp: () => void;
}

interface Shortcut {
  keys: string[];
  description: string;
  /** Matches the key anywhere on the page; if missing, the focused element handles it. */
  matches?: (event: KeyboardEvent) => boolean;
  does?: keyof Actions;
}

/** All keyboard shortcuts. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ["Enter"], description: names.send },
  { keys: ["Shift", "Enter"], description: names.line },
  { keys: ["Esc"], description: names.stop },
  { keys: ["↑"], description: names.editLast },
  { keys: ["/"], description: strings.composer.slash.shortcut },
  {
    keys: [MODIFIER.trim(), "K"],
    description: names.search,
    matches: (event) => isCommand(event, "k") && !event.shiftKey,
    does: "onSearch",
  },
  {
    keys: [MODIFIER.trim(), "Shift", "O"],
    description: names.newChat,
    matches: (event) => isCommand(event, "o") && event.shiftKey,
    does: "onNew",
  },
  {
    keys: [MODIFIER.trim(), "J"],
    description: names.panel,
    matches: (event) => isCommand(event, "j") && !event.shiftKey,
    does: "onPanel",
  },
  {
    keys: [MODIFIER.trim(), "B"],
    description: strings.sidebar.toggleShortcut,
    matches: (event) => isCommand(event, "b") && !event.shiftKey,
    does: "onSidebar",
  },
  {
    keys: ["?"],
    description: names.help,
    matches: (event) => event.key === "?" && !isCommand(event, "?") && !isTyping(event.target),
    does: "onHelp",
  },
];

/** Installs the page-wide shortcuts. */
export function useShortcuts(actions: Actions): void {
  const { onSearch, onNew, onPanel, onSidebar, onHelp } = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { does } = SHORTCUTS.find(({ matches }) => matches?.(event)) ?? {};
      if (!does || event.defaultPrevented) return;
      event.preventDefault();
      ({ onSearch, onNew, onPanel, onSidebar, onHelp })[does]();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [onSearch, onNew, onPanel, onSidebar, onHelp]);
}

const isCommand = (event: KeyboardEvent, key: string) =>
  (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === key;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest("input, textarea, [contenteditable=true]") !== null
  );
}
