import type { UIMessage } from "ai";
import { useEffect, useState } from "react";
import { Replayed } from "@/chat/Replayed";
import { messageOf } from "@/inspector/replaying";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { Parts } from "@/parts/Parts";
import { useReplay } from "@/state/replay";
import { useStore } from "@/store";
import { strings } from "@/strings";
import type { Recording } from "@/view/recording";

const words = strings.viewing;

/** The recording as the chat that it would have been. Nothing in it can be answered. */
export function RecordedChat({ recording }: { recording: Recording }) {
  const { message, problem, isReading } = useMessage(recording);
  const { known } = useStore(recording.facts);
  const replay = useReplay(recording.id);
  return (
    <div
      role="log"
      aria-live="off"
      aria-label={words.chat}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
      tabIndex={0}
      className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto focus-visible:outline-offset-[-2px]"
    >
      <div className="mx-auto flex w-full max-w-3xl flex-col gap-4 px-4 pt-4 pb-10">
        {known?.prompt && <Prompt text={known.prompt} />}
        {problem && <ErrorBlock network text={problem} />}
        {isReading && !message && (
          <p role="status" className="text-center text-block text-ink-2">
            {words.reading}
          </p>
        )}
        {replay ? (
          <Replayed replay={replay} />
        ) : (
          message && (
            <article aria-label={strings.chat.agent} className="flex flex-col gap-2">
              <Parts message={message} live={false} />
            </article>
          )
        )}
      </div>
    </div>
  );
}

const Prompt = ({ text }: { text: string }) => (
  <article aria-label={words.prompt} className="flex justify-end">
    <p className="max-w-[85%] rounded-large rounded-ee-small bg-ground-3 px-4 py-2 break-words whitespace-pre-wrap">
      {text}
    </p>
  </article>
);

/** The message that the whole recording adds up to, once it is read. */
function useMessage(recording: Recording) {
  const reading = recording.own;
  const { all } = useStore(reading.entries);
  const { phase, problem } = useStore(reading.state);
  const [message, setMessage] = useState<UIMessage>();
  useEffect(() => reading.open(), [reading]);
  const isReading = phase === "reading";
  useEffect(() => {
    if (isReading || all.length === 0) return;
    let isWanted = true;
    void messageOf(recording.id, all).then((made) => isWanted && setMessage(made));
    return () => {
      isWanted = false;
    };
  }, [recording.id, all, isReading]);
  return { message, problem, isReading };
}
