import { Paperclip, Pencil, SendHorizontal, Undo2 } from "lucide-react";
import { useRef, useState } from "react";
import type { QueueNote } from "@/chat/queueing";
import { type Queued, queue, useEdited, useQueue } from "@/state/queue";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { toComposer, useFocusAtEnd } from "@/ui/focus";
import { TextArea } from "@/ui/TextArea";

const words = strings.composer.queue;

interface QueueProps {
  chat: string;
  /** Why the first one is not sent now. */
  note: QueueNote | undefined;
  /** A message is being sent: no other can be. */
  isBusy: boolean;
  onSend: (id: string) => void;
  onTakeBack: (queued: Queued) => void;
  /** Editing has ended. */
  onEdited: () => void;
}

/** The messages that wait until the agent is done. */
export function Queue({ chat, note, ...actions }: QueueProps) {
  const queued = useQueue(chat);
  const edited = useEdited();
  return (
    <>
      <p role="status" className="sr-only">
        {queued.length ? words.count(queued.length) : ""}
      </p>
      {queued.length > 0 && (
        <section
          aria-label={words.name}
          className="flex max-h-[35dvh] flex-col gap-1 overflow-y-auto rounded-block border bg-ground-2 p-2"
        >
          <p className="px-1 text-mono text-ink-2">
            {note ? words.notes[note] : words.count(queued.length)}
          </p>
          <ol className="flex flex-col gap-1">
            {queued.map((each) => (
              <li key={each.id}>
                {each.id === edited ? (
                  <Editor chat={chat} queued={each} onEdited={actions.onEdited} />
                ) : (
                  <Row chat={chat} queued={each} {...actions} />
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

type RowProps = Omit<QueueProps, "note" | "onEdited"> & { queued: Queued };

function Row({ chat, queued, isBusy, onSend, onTakeBack }: RowProps) {
  const { id, text, files } = queued;
  const name = text ? firstOf(text) : words.files(files.length);
  return (
    <div className="flex items-center gap-1 rounded-small bg-ground ps-3">
      <div className="min-w-0 flex-1 py-1.5">
        <p className="line-clamp-2 text-block break-words">{text}</p>
        {files.length > 0 && (
          <p className="flex items-center gap-1 text-mono text-ink-2">
            <Paperclip aria-hidden className="size-3.5" />
            {words.files(files.length)}
          </p>
        )}
      </div>
      <IconButton label={words.editOf(name)} onClick={() => queue.edit(id)}>
        <Pencil aria-hidden />
      </IconButton>
      <IconButton
        label={words.takeBackOf(name)}
        onClick={() => {
          const taken = queue.remove(chat, id);
          if (taken) onTakeBack(taken);
          toComposer();
        }}
      >
        <Undo2 aria-hidden />
      </IconButton>
      <Button
        kind="quiet"
        disabled={isBusy}
        aria-label={words.sendNowOf(name)}
        title={words.sendNowHint}
        onClick={() => {
          onSend(id);
          toComposer();
        }}
        className="shrink-0 text-accent max-sm:min-w-11"
      >
        <SendHorizontal aria-hidden className="size-4" />
        <span className="max-sm:sr-only">{words.sendNow}</span>
      </Button>
    </div>
  );
}

const LONGEST_NAME = 60;

/** Enough of a message to recognize it by. */
const firstOf = (text: string) =>
  text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME).trimEnd()}…` : text;

interface EditorProps {
  chat: string;
  queued: Queued;
  onEdited: () => void;
}

/** Changes a queued message in its place. It is not sent meanwhile. */
function Editor({ chat, queued, onEdited }: EditorProps) {
  const [text, setText] = useState(queued.text);
  const field = useRef<HTMLTextAreaElement>(null);
  useFocusAtEnd(field);
  const end = () => {
    queue.edit(undefined);
    toComposer();
    onEdited();
  };
  const canSave = text.trim() !== "" || queued.files.length > 0;
  const save = () => {
    if (!canSave) return;
    if (text.trim() !== queued.text) queue.change(chat, queued.id, text.trim());
    end();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
      className="rounded-small border border-accent bg-ground p-1"
    >
      <TextArea
        ref={field}
        aria-label={words.editing}
        value={text}
        onChange={setText}
        onEnter={save}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          end();
        }}
        className="px-2 py-1 text-block"
      />
      <div className="flex justify-end gap-1">
        <Button kind="quiet" onClick={end}>
          {words.cancel}
        </Button>
        <Button kind="solid" type="submit" disabled={!canSave}>
          {words.save}
        </Button>
      </div>
    </form>
  );
}
