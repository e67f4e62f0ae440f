import { MessageSquareText, ThumbsDown, ThumbsUp } from "lucide-react";
import { useRef, useState } from "react";
import type { Opinion } from "@/api";
import { FeedbackComment } from "@/chat/FeedbackComment";
import { useFacts, useFeedback } from "@/chat/facts";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";

const words = strings.answers;

const THUMBS = [
  { value: "up", label: words.good, Icon: ThumbsUp },
  { value: "down", label: words.bad, Icon: ThumbsDown },
] as const;

/** What `FeedbackButtons` and the comment below them share. */
export function useFeedbackOf(runId: string) {
  const facts = useFacts();
  const given = useFeedback(runId);
  const [isWriting, setWriting] = useState(false);
  const [problem, setProblem] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  /** The field had the focus. */
  const close = () => {
    setWriting(false);
    button.current?.focus();
  };
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    setProblem("");
    try {
      await work();
      return true;
    } catch {
      setProblem(words.feedbackFailed);
      return false;
    }
  };
  /** The same thumb again takes the opinion back. */
  const rate = async (value: Opinion) => {
    const isSame = given?.value === value;
    const isDone = await attempt(() =>
      isSame ? facts.takeBack(runId) : facts.rate(runId, value, given?.comment),
    );
    if (isDone) setWriting(value === "down" && !isSame);
  };
  const save = async (comment: string) => {
    if (given && (await attempt(() => facts.rate(runId, given.value, comment)))) close();
  };
  return { given, isWriting, setWriting, problem, rate, save, close, button };
}

export type FeedbackState = ReturnType<typeof useFeedbackOf>;

/** Thumbs, and for who has pressed one a comment. */
export function FeedbackButtons({ state }: { state: FeedbackState }) {
  const { given, isWriting, setWriting, rate } = state;
  return (
    <>
      {THUMBS.map(({ value, label, Icon }) => (
        <IconButton
          key={value}
          label={label}
          aria-pressed={given?.value === value}
          onClick={() => void rate(value)}
        >
          <Icon
            aria-hidden
            className={classes(given?.value === value && "fill-current text-ink")}
          />
        </IconButton>
      ))}
      {given && (
        <IconButton
          ref={state.button}
          label={given.comment ? words.editComment : words.comment}
          aria-expanded={isWriting}
          onClick={() => setWriting(!isWriting)}
        >
          <MessageSquareText
            aria-hidden
            className={classes(given.comment && "fill-current text-ink")}
          />
        </IconButton>
      )}
    </>
  );
}

/** The comment field, and why something was not saved. */
export function FeedbackMore({ state }: { state: FeedbackState }) {
  const { given, isWriting, problem } = state;
  return (
    <>
      {given && isWriting && (
        <FeedbackComment given={given} onSave={state.save} onCancel={state.close} />
      )}
      {problem && (
        <p role="alert" className="text-block text-bad">
          {problem}
        </p>
      )}
    </>
  );
}
