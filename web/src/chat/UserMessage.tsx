import type { UIMessage } from "ai";
import { Pencil } from "lucide-react";
import { useRef, useState } from "react";
import { BranchSwitch } from "@/chat/BranchSwitch";
import type { MessageActions } from "@/chat/useMessageActions";
import { CopyButton } from "@/content/CopyButton";
import { Files } from "@/parts/Files";
import { readFile } from "@/parts/fileItems";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { toComposer, useFocusAtEnd } from "@/ui/focus";
import { TextArea } from "@/ui/TextArea";

interface UserMessageProps {
  message: UIMessage;
  /** No run is active, so the message can be edited. */
  free: boolean;
  isLastFromUser: boolean;
  isEdited: boolean;
  onEditing: (id: string | undefined) => void;
  onEdit: (messageId: string, text: string) => void;
  onChoose: MessageActions["choose"];
}

const textOf = (message: UIMessage) =>
  message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");

const filesOf = (message: UIMessage) =>
  message.parts.filter(({ type }) => type === "file" || type === "data-file").map(readFile);

/** The user's message: a bubble on the right, which can be edited. */
export function UserMessage(props: UserMessageProps) {
  const { message, free, onEditing } = props;
  const text = textOf(message);
  const files = filesOf(message);
  const end = () => {
    onEditing(undefined);
    toComposer();
  };
  const save = (next: string) => {
    end();
    if (next !== text) props.onEdit(message.id, next);
  };
  return (
    <article
      aria-label={strings.chat.you}
      className="group flex flex-row-reverse items-center gap-1"
    >
      {props.isEdited ? (
        <Editor
          text={text}
          hasLater={!props.isLastFromUser}
          onCancel={end}
          onSave={free ? save : undefined}
        />
      ) : (
        <>
          <div className="flex min-w-0 max-w-[85%] flex-col items-end gap-2">
            {files.length > 0 && (
              <div className="max-w-full">
                <Files block={{ kind: "files", key: message.id, files }} />
              </div>
            )}
            {text && (
              <p
                dir="auto"
                className="max-w-full rounded-large rounded-ee-small bg-ground-3 px-4 py-2 break-words whitespace-pre-wrap"
              >
                {text}
              </p>
            )}
            <BranchSwitch messageId={message.id} free={free} onChoose={props.onChoose} />
          </div>
          <UserActions text={text} onEdit={free ? () => onEditing(message.id) : undefined} />
        </>
      )}
    </article>
  );
}

function UserActions({ text, onEdit }: { text: string; onEdit?: () => void }) {
  return (
    <div className="flex shrink-0 opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
      <CopyButton text={() => text} className="size-9 [&_svg]:size-4" />
      {onEdit && (
        <IconButton label={strings.chat.edit} onClick={onEdit}>
          <Pencil aria-hidden />
        </IconButton>
      )}
    </div>
  );
}

interface EditorProps {
  text: string;
  /** There are messages after it. */
  hasLater: boolean;
  /** If missing, the text stays in the field until sending is possible. */
  onSave?: (text: string) => void;
  onCancel: () => void;
}

function Editor({ text, hasLater, onSave, onCancel }: EditorProps) {
  const [draft, setDraft] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useFocusAtEnd(field);
  const save = () => draft.trim() && onSave?.(draft.trim());
  return (
    <form
      className="w-full rounded-large border border-accent bg-ground p-2"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextArea
        ref={field}
        aria-label={strings.chat.editing}
        value={draft}
        onChange={setDraft}
        onEnter={save}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          onCancel();
        }}
        className="px-2 py-1"
      />
      <div className="flex items-center justify-end gap-2">
        {hasLater && (
          <p className="flex-1 px-2 text-mono text-ink-2">{strings.chat.editReplaces}</p>
        )}
        <Button kind="quiet" onClick={onCancel}>
          {strings.chat.cancel}
        </Button>
        {onSave && (
          <Button kind="solid" type="submit" disabled={!draft.trim()}>
            {strings.chat.saveEdit}
          </Button>
        )}
      </div>
    </form>
  );
}
