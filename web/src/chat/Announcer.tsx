import { useEffect, useRef, useState } from "react";
import type { Life } from "@/chat/conversationState";
import type { Ending } from "@/parts/wire";
import { strings } from "@/strings";

const { says } = strings.chat;

interface AnnouncerProps {
  life: Life;
  ending: Ending | undefined;
}

/** Announces the start and end of a run to screen readers, never the streamed text. */
export function Announcer({ life, ending }: AnnouncerProps) {
  const before = useRef(life);
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (before.current === life) return;
    before.current = life;
    setSaid(wordsFor(life, ending));
  }, [life, ending]);
  return (
    <p role="status" className="sr-only">
      {said}
    </p>
  );
}

function wordsFor(life: Life, ending: Ending | undefined): string {
  if (life !== "idle") return says[life];
  if (ending?.error !== undefined) return says.failed;
  return ending?.reason === "cancelled" ? says.stopped : says.finished;
}
