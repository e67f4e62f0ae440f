import { useRef, useState } from "react";
import type { Feedback } from "@/api";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { useFocusAtEnd } from "@/ui/focus";
import { TextArea } from "@/ui/TextArea";

const words = strings.answers;

interface FeedbackCommentProps {
  given: Feedback;
  onSave: (comment: string) => void;
  onCancel: () => void;
}

/** A comment on an answer; Enter saves it, Escape closes the field. */
export function FeedbackComment({ given, onSave, onCancel }: FeedbackCommentProps) {
  const [text, setText] = useState(given.comment);
  const field = useRef<HTMLTextAreaElement>(null);
  useFocusAtEnd(field);
  return (
    <form
      className="max-w-lg rounded-block border bg-ground p-2"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(text.trim());
      }}
    >
      <TextArea
        ref={field}
        aria-label={words.commentField}
        placeholder={words.commentPlaceholder[given.value]}
        maxLength={4000}
        value={text}
        onChange={setText}
        onEnter={() => onSave(text.trim())}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          onCancel();
        }}
        className="px-2 py-1"
      />
      <div className="flex justify-end gap-2">
        <Button kind="quiet" onClick={onCancel}>
          {words.cancelComment}
        </Button>
        <Button kind="solid" type="submit">
          {words.saveComment}
        </Button>
      </div>
    </form>
  );
}
