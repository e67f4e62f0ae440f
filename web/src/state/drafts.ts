import { useCallback, useState } from "react";

const key = (chat: string) => `mobox:draft:${chat}`;

function read(chat: string): string {
  try {
    return sessionStorage.getItem(key(chat)) ?? "";
  } catch {
    return "";
  }
}

function write(chat: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(key(chat), text);
    else sessionStorage.removeItem(key(chat));
  } catch {
    // Storage is switched off or full: the draft lives as long as the page.
  }
}

/**
 * What was typed into a chat and not sent: it outlives leaving the chat and reloading the page. A new
 * chat that gets its name takes its draft along.
 */
export function useDraft(chat: string): readonly [string, (text: string) => void] {
  const [text, setText] = useState(() => read(chat));
  const [owner, setOwner] = useState(chat);
  if (owner !== chat) {
    write(owner, "");
    write(chat, text);
    setOwner(chat);
  }
  const set = useCallback(
    (next: string) => {
      setText(next);
      write(chat, next);
    },
    [chat],
  );
  return [text, set];
}
