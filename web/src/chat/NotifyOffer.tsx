import { Bell } from "lucide-react";
import { useEffect, useState } from "react";
import type { Life } from "@/chat/conversationState";
import { allowNotices, notifying, permission } from "@/state/notices";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { toComposer } from "@/ui/focus";

const words = strings.noticing;

/** Offers notifications, once, to a person who has left the page while the agent was busy. */
export function NotifyOffer({ life }: { life: Life }) {
  const [setting, set] = notifying.use();
  const [hasLeft, setLeft] = useState(false);
  const [isBlocked, setBlocked] = useState(false);
  const isAskable = setting === "unasked" && permission() === "default";
  useEffect(() => {
    if (!isAskable || life === "idle") return;
    const onLeave = () => document.visibilityState === "hidden" && setLeft(true);
    document.addEventListener("visibilitychange", onLeave);
    return () => document.removeEventListener("visibilitychange", onLeave);
  }, [isAskable, life]);
  const accept = async () => {
    setBlocked(!(await allowNotices()));
    toComposer();
  };
  const decline = () => {
    set("off");
    toComposer();
  };
  if (isBlocked) return <p className="px-1 text-mono text-ink-2">{words.blocked}</p>;
  if (!isAskable || !hasLeft) return null;
  return (
    <section
      aria-label={words.setting}
      className="flex flex-wrap items-center gap-x-2 gap-y-1 rounded-block border bg-ground-2 ps-3 pe-1 text-block"
    >
      <Bell aria-hidden className="size-4 shrink-0 text-ink-2" />
      <p className="min-w-0 flex-1 basis-52 py-1.5">{words.offer}</p>
      <Button kind="quiet" onClick={() => void accept()} className="text-accent">
        {words.accept}
      </Button>
      <Button kind="quiet" onClick={decline} className="text-ink-2">
        {words.decline}
      </Button>
    </section>
  );
}
