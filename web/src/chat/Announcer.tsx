import { useEffect, useRef, useState } from "react";
import type { Life } from "@/chat/conversationState";
import type { Ending } from "@/parts/wire";
import { strings } from "@/strings";

const { announcements } = strings.chat;

interface AnnouncerProps {
  life: Life;
  ending: Ending | undefined;
}

/** Announces the start and end of a run to screen readers, never the streamed text. */
export function Announcer({ life, ending }: AnnouncerProps) {
  const before = useRef(life);
  const [text, setText] = useState("");
  useEffect(() => {
    if (before.current === life) return;
    before.current = life;
    setText(wordsFor(life, ending));
  }, [life, ending]);
  return (
    <p role="status" className="sr-only">
      {text}
    </p>
  );
}

function wordsFor(life: Life, ending: Ending | undefined): string {
  if (life !== "idle") return announcements[life];
  if (ending?.error !== undefined) return announcements.failed;
  return ending?.reason === "cancelled" ? announcements.stopped : announcements.finished;
}
