import { useState } from "react";
import type { NamedChat } from "@/api";
import { SHORTCUTS } from "@/shell/shortcuts";
import { remove, rename } from "@/state/chats";
import { useSending } from "@/state/useSending";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";

interface ChatDialogProps {
  chat: NamedChat;
  onClose: () => void;
  onDone?: () => void;
}

/** Confirms the deletion of a chat. */
export function DeleteDialog({ chat, onClose, onDone }: ChatDialogProps) {
  const { busy, problem, send } = useSending();
  const act = async () => {
    await remove(chat.id);
    onClose();
    onDone?.();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={strings.shell.deleteTitle}
      line={strings.shell.deleteLine(chat.title)}
    >
      <Problem text={problem} />
      <Choices onClose={onClose}>
        <Button kind="danger" disabled={busy} onClick={() => send(act)}>
          {strings.shell.delete}
        </Button>
      </Choices>
    </Dialog>
  );
}

export function RenameDialog({ chat, onClose }: ChatDialogProps) {
  const [text, setText] = useState(chat.title);
  const { busy, problem, send } = useSending();
  const act = async () => {
    if (text.trim() !== chat.title) await rename(chat.id, text.trim());
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={strings.shell.renameTitle}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) send(act);
        }}
      >
        <input
          aria-label={strings.shell.title}
          value={text}
          maxLength={200}
          onChange={(event) => setText(event.target.value)}
          className="mt-3 min-h-10 w-full rounded-lg border bg-ground px-3 max-md:min-h-11 max-md:text-[16px]"
        />
        <Problem text={problem} />
        <Choices onClose={onClose}>
          <Button kind="solid" type="submit" disabled={busy || !text.trim()}>
            {strings.shell.save}
          </Button>
        </Choices>
      </form>
    </Dialog>
  );
}

/** The list of keyboard shortcuts. */
export function HelpDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title={strings.shell.help}>
      <dl className="mt-2">
        {SHORTCUTS.map(({ keys, description }) => (
          <div
            key={description}
            className="flex min-h-9 items-center justify-between gap-4 text-block"
          >
            <dt>{description}</dt>
            <dd className="flex shrink-0 gap-1">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="rounded-small border bg-ground-2 px-1.5 font-sans text-mono text-ink-2"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const Problem = ({ text }: { text: string | undefined }) =>
  text ? (
    <p role="alert" className="mt-2 text-block text-bad">
      {text}
    </p>
  ) : null;

const Choices = ({ onClose, children }: { onClose: () => void; children: React.ReactNode }) => (
  <div className="mt-5 flex justify-end gap-2">
    <Button kind="quiet" onClick={onClose}>
      {strings.shell.cancel}
    </Button>
    {children}
  </div>
);
