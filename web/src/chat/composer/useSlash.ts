import { type KeyboardEvent, useId, useState } from "react";
import { found, type SlashItem, type SlashSource, wanted } from "@/chat/composer/slash";

const NONE: SlashItem[] = [];

/** The list that `/` opens at the start of the text; `onChoose` gets the chosen item. */
export function useSlash(text: string, source: SlashSource, onChoose: (item: SlashItem) => void) {
  const id = useId();
  const [place, setPlace] = useState({ query: "", active: 0 });
  const [isDismissed, setDismissed] = useState(false);
  const query = wanted(text);
  if (query === undefined && isDismissed) setDismissed(false);
  const items = query === undefined || isDismissed ? NONE : found(source, query);
  const active = place.query === query ? Math.min(place.active, items.length - 1) : 0;
  const move = (steps: number) =>
    setPlace({ query: query ?? "", active: (active + steps + items.length) % items.length });
  const choose = (item = items[active]) => item && onChoose(item);
  const KEYS: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Tab: () => choose(),
    Escape: () => setDismissed(true),
  };
  const isOpen = items.length > 0;
  /** Whether the key was for the list. */
  const onKey = (event: KeyboardEvent): boolean => {
    const act = isOpen && !event.shiftKey ? KEYS[event.key] : undefined;
    if (!act) return false;
    event.preventDefault();
    act();
    return true;
  };
  const optionId = (item: SlashItem) => `${id}-${item.id}`;
  const current = items[active];
  return {
    id,
    isOpen,
    items,
    active,
    choose,
    onKey,
    optionId,
    /** For the text field. */
    field: isOpen
      ? {
          "aria-autocomplete": "list" as const,
          "aria-controls": id,
          "aria-activedescendant": current && optionId(current),
        }
      : {},
  };
}

export type Slash = ReturnType<typeof useSlash>;
