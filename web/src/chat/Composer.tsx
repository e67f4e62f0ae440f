import { ArrowUp, Square } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { AttachButton } from "@/chat/composer/AttachButton";
import { Attachments, problemOf } from "@/chat/composer/Attachments";
import { SlashMenu } from "@/chat/composer/SlashMenu";
import type { SlashItem, SlashSource } from "@/chat/composer/slash";
import { pasteFiles } from "@/chat/composer/useDrop";
import { useSlash } from "@/chat/composer/useSlash";
import type { Life } from "@/chat/conversationState";
import type { Attachment } from "@/state/attachments";
import { useDraft, useDraftFiles } from "@/state/drafts";
import { type Upload, useUploads } from "@/state/uploads";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { COMPOSER, toComposer } from "@/ui/focus";
import { TextArea } from "@/ui/TextArea";

const NOTHING: SlashSource = { agents: [], starters: [] };

interface ComposerProps {
  /** The key of the stored draft. The sender deletes it. */
  draft: string;
  life: Life;
  /** A stop was requested. */
  stopping?: boolean;
  /** The text was sent, and taken back before the server had it. */
  takenBack?: boolean;
  /** The chat is still loading. */
  disabled?: boolean;
  /** The chat is empty: on wide pages the composer is in the middle. */
  isFirst?: boolean;
  /** What `/` offers. */
  slash?: SlashSource;
  onSend: (text: string, files: Attachment[]) => void;
  /** Sends it when the agent is done. */
  onQueue: (text: string, files: Attachment[]) => void;
  onStop: () => void;
  onEditLast: () => void;
  onAgent?: (id: string) => void;
  /** The footer: the agent picker. */
  children?: ReactNode;
}

/** The message box. It grows with its text; during a run, Stop replaces Send, and messages are queued. */
export function Composer(props: ComposerProps) {
  const { draft, life, stopping, takenBack, disabled } = props;
  const [text, setText] = useDraft(draft);
  const files = useDraftFiles(draft);
  const unready = whatIsMissing(files, useUploads());
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const isFree = life === "idle" && !disabled;
  const [hasTried, setTried] = useState(false);
  if (hasTried && !unready) setTried(false);
  const isEmpty = !text.trim() && files.length === 0;
  const slash = useSlash(text, props.slash ?? NOTHING, (item: SlashItem) => {
    setText(item.kind === "agent" ? "" : item.text);
    if (item.kind === "agent") props.onAgent?.(item.agent.id);
  });
  const send = () => {
    if (isEmpty || disabled) return;
    if (unready) return setTried(true);
    (isFree ? props.onSend : props.onQueue)(text.trim(), files);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (slash.onKey(event) || event.key !== "ArrowUp" || !isEmpty || disabled) return;
    event.preventDefault();
    props.onEditLast();
  };
  const isBack = life === "idle" && takenBack && text;
  const hint = hasTried && unready ? HINTS[unready] : isBack && strings.chat.takenBack;
  return (
    <form
      className={classes(
        "relative rounded-large border bg-ground shadow-sm focus-within:border-accent",
        "focus-within:ring-1 focus-within:ring-accent",
      )}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <SlashMenu slash={slash} isBelow={props.isFirst} />
      <Attachments draft={draft} files={files} />
      <TextArea
        ref={field}
        id={COMPOSER}
        value={text}
        aria-label={strings.chat.yourMessage}
        placeholder={strings.chat.placeholders[life]}
        onChange={setText}
        onEnter={() => (slash.isOpen ? slash.choose() : send())}
        onKeyDown={onKeyDown}
        onPaste={(event) => pasteFiles(draft, event)}
        className="px-4 pt-3 pb-1"
        {...slash.field}
      />
      <p role="status" className="px-4 text-mono text-ink-2">
        {hint || ""}
      </p>
      <div className="flex items-center gap-1 p-2">
        <AttachButton draft={draft} disabled={disabled} />
        <div className="min-w-0 flex-1">{props.children}</div>
        {/* Different keys: a click on one button must not submit because it turned into the other. */}
        {life !== "idle" && !isEmpty && (
          <Round key="queue" label={strings.chat.queue} kind="quiet" type="submit">
            <ArrowUp aria-hidden />
          </Round>
        )}
        {life === "idle" ? (
          <Round key="send" label={strings.chat.send} disabled={isEmpty || disabled} type="submit">
            <ArrowUp aria-hidden />
          </Round>
        ) : (
          <Round
            key="stop"
            label={stopping ? strings.chat.stopping : strings.chat.stop}
            title={stopping ? undefined : strings.chat.stopHint}
            disabled={stopping}
            onClick={props.onStop}
          >
            <Square aria-hidden className="fill-current" />
          </Round>
        )}
      </div>
    </form>
  );
}

const HINTS = {
  uploading: strings.composer.stillUploading,
  failed: strings.composer.removeFailed,
};

/** Why the files cannot be sent yet. */
function whatIsMissing(
  files: Attachment[],
  known: Record<string, Upload>,
): keyof typeof HINTS | undefined {
  if (files.some((file) => problemOf(file, known[file.id]))) return "failed";
  return files.some(({ part }) => !part) ? "uploading" : undefined;
}

const KINDS = {
  solid: "bg-accent text-accent-ink hover:opacity-90",
  quiet: "border border-accent text-accent hover:bg-ground-3",
};

interface RoundProps {
  label: string;
  title?: string;
  kind?: keyof typeof KINDS;
  type?: "button" | "submit";
  disabled?: boolean;
  onClick?: () => void;
  children: ReactNode;
}

/** Moves the focus to the text field when the focused button becomes disabled. */
function Round({ label, title = label, kind = "solid", type = "button", ...rest }: RoundProps) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = button;
    const leave = () => document.activeElement === current && toComposer();
    if (rest.disabled) leave();
    return () => void leave();
  }, [rest.disabled]);
  return (
    <button
      {...rest}
      ref={button}
      type={type}
      aria-label={label}
      title={title}
      className={classes(
        "inline-flex size-9 shrink-0 items-center justify-center rounded-full transition-opacity disabled:opacity-40 max-md:size-11 [&_svg]:size-4",
        KINDS[kind],
      )}
    />
  );
}
