import { ArrowUp, Square } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Life } from "@/chat/conversationState";
import { useDraft } from "@/state/drafts";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { COMPOSER, toComposer } from "@/ui/focus";
import { TextArea } from "@/ui/TextArea";

/** Why sending is disabled. */
const HINTS = { working: strings.chat.busyHint, waiting: strings.chat.waitingHint };

interface ComposerProps {
  /** The key of the stored draft. The sender deletes it. */
  draft: string;
  agent: string;
  life: Life;
  /** A stop was requested. */
  stopping?: boolean;
  /** The text was sent, and taken back before the server had it. */
  takenBack?: boolean;
  /** The chat is still loading. */
  disabled?: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
  onEditLast: () => void;
  /** The footer: the agent picker. */
  children?: ReactNode;
}

/** The message box. It grows with its text; Stop replaces Send during a run. */
export function Composer(props: ComposerProps) {
  const { draft, life, stopping, takenBack, disabled } = props;
  const [text, setText] = useDraft(draft);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const isFree = life === "idle" && !disabled;
  const [hasTried, setTried] = useState(false);
  if (hasTried && life === "idle") setTried(false);
  const send = () => {
    const trimmed = text.trim();
    if (trimmed && life !== "idle") setTried(true);
    if (!trimmed || !isFree) return;
    props.onSend(trimmed);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowUp" || text !== "" || !isFree) return;
    event.preventDefault();
    props.onEditLast();
  };
  const hint =
    life === "idle" ? takenBack && text && strings.chat.takenBack : hasTried && HINTS[life];
  return (
    <form
      className={classes(
        "rounded-large border bg-ground shadow-sm focus-within:border-accent",
        "focus-within:ring-1 focus-within:ring-accent",
      )}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextArea
        ref={field}
        id={COMPOSER}
        value={text}
        aria-label={strings.chat.yourMessage}
        placeholder={
          life === "waiting"
            ? strings.chat.placeholderWaiting
            : strings.chat.placeholder(props.agent)
        }
        onChange={setText}
        onEnter={send}
        onKeyDown={onKeyDown}
        className="px-4 pt-3 pb-1"
      />
      <p role="status" className="px-4 text-mono text-ink-2">
        {hint || ""}
      </p>
      <div className="flex items-center gap-2 p-2">
        <div className="min-w-0 flex-1">{props.children}</div>
        {/* Different keys: a click on one button must not submit because it turned into the other. */}
        {life === "idle" ? (
          <Round
            key="send"
            label={strings.chat.send}
            disabled={!text.trim() || disabled}
            type="submit"
          >
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

interface RoundProps {
  label: string;
  title?: string;
  type?: "button" | "submit";
  disabled?: boolean;
  onClick?: () => void;
  children: ReactNode;
}

/** Moves the focus to the text field when the focused button becomes disabled. */
function Round({ label, title = label, type = "button", ...rest }: RoundProps) {
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
      className="inline-flex size-9 shrink-0 items-center justify-center rounded-full bg-accent text-accent-ink transition-opacity hover:opacity-90 disabled:opacity-40 max-md:size-11 [&_svg]:size-4"
    />
  );
}
