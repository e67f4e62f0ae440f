import { useEffect } from "react";
import { strings } from "@/strings";

const isApple = /Mac|iP(hone|ad|od)/.test(navigator.platform);
export const MODIFIER = isApple ? "⌘" : "Ctrl ";

const { shortcuts: names } = strings.shell;

/** All keys that do something, for who asks. */
export const SHORTCUTS: readonly (readonly [keys: string[], does: string])[] = [
  [["Enter"], names.send],
  [["Shift", "Enter"], names.line],
  [["Esc"], names.stop],
  [["↑"], names.editLast],
  [[MODIFIER.trim(), "K"], names.search],
  [[MODIFIER.trim(), "Shift", "O"], names.newChat],
  [["?"], names.help],
];

interface Actions {
  onSearch: () => void;
  onNew: () => void;
  onHelp: () => void;
}

/** The keys that work anywhere on the page. */
export function useShortcuts({ onSearch, onNew, onHelp }: Actions): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = actionOf(event);
      if (!action || event.defaultPrevented) return;
      event.preventDefault();
      ({ search: onSearch, new: onNew, help: onHelp })[action]();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [onSearch, onNew, onHelp]);
}

function actionOf(event: KeyboardEvent): "search" | "new" | "help" | undefined {
  const key = event.key.toLowerCase();
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && key === "k" && !event.shiftKey) return "search";
  if (isCommand && key === "o" && event.shiftKey) return "new";
  if (key === "?" && !isCommand && !isTyping(event.target)) return "help";
  return undefined;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, [contenteditable]") !== null;
}
