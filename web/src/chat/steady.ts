import type { UIMessage } from "ai";
import { useLayoutEffect, useRef } from "react";
import { weight } from "@/chat/history";

/** The version of a replayed message to show: never shorter than before. */
export function steady(shown: UIMessage | undefined, next: UIMessage): UIMessage {
  return shown?.id === next.id && weight(next) < weight(shown) ? shown : next;
}

/** The messages; the last one does not shrink while it is replayed. */
export function useSteady(messages: UIMessage[], replaying: boolean): UIMessage[] {
  const shown = useRef<UIMessage>(undefined);
  const last = messages.at(-1);
  const view = last && replaying ? steady(shown.current, last) : last;
  useLayoutEffect(() => {
    shown.current = view;
  });
  return view && view !== last ? [...messages.slice(0, -1), view] : messages;
}
