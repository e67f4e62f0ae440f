import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { brand } from "@/brand";
import type { Life } from "@/chat/conversationState";
import { type Ending, hasFailed } from "@/parts/wire";
import { notice } from "@/state/notices";
import { navigate } from "@/state/route";
import { strings } from "@/strings";
import { type Badge, setBadge } from "@/ui/favicon";

const words = strings.noticing;

interface Noticed {
  chat: string;
  /** Undefined while the chat has none. */
  title: string | undefined;
  life: Life;
  /** How the last run ended: asked when the run has ended. */
  ending: () => Ending | undefined;
}

/** Shows in the tab what the agent does, and what has happened since the person looked away. */
export function useNoticed({ chat, title, life, ending }: Noticed): void {
  const badge = useBadge(life, ending);
  const whole = title ? `${title} · ${brand.name}` : brand.name;
  useEffect(() => {
    document.title = badge ? words.tab[badge](whole) : whole;
  }, [badge, whole]);
  useEffect(() => {
    setBadge(badge);
    return () => setBadge(undefined);
  }, [badge]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new title is no news
  useEffect(() => {
    if (badge === undefined || badge === "working") return;
    const onOpen = () => navigate({ page: "chat", id: chat });
    notice({
      title: title ?? brand.name,
      line: words.notifications[badge],
      key: chat,
      onOpen,
    });
  }, [badge]);
}

/** The end of a run is shown until the person looks. */
function useBadge(life: Life, ending: () => Ending | undefined): Badge | undefined {
  const isSeen = useSyncExternalStore(subscribe, isVisible);
  const before = useRef(life);
  const [end, setEnd] = useState<"done" | "failed">();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ending is that of this moment
  useEffect(() => {
    const hasEnded = before.current !== "idle" && life === "idle";
    before.current = life;
    if (hasEnded && !isVisible()) setEnd(hasFailed(ending()) ? "failed" : "done");
    if (life !== "idle") setEnd(undefined);
  }, [life]);
  if (isSeen && end) setEnd(undefined);
  return life === "idle" ? end : life;
}

const isVisible = () => document.visibilityState === "visible";

function subscribe(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
