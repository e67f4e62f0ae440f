import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef } from "react";
import { Screen } from "@/panes/screen";
import { strings } from "@/strings";

/** A read-only terminal: the keyboard scrolls it and copies the selection. */
export default function ScreenView({ text }: { text: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const opened = new Screen(element, getComputedStyle(element));
    screen.current = opened;
    const theme = new MutationObserver(() => opened.recolour(element));
    theme.observe(document.documentElement, { attributeFilter: ["class"] });
    return () => {
      theme.disconnect();
      opened.dispose();
    };
  }, []);
  useEffect(() => screen.current?.show(text), [text]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (screen.current?.scroll(event.key)) event.preventDefault();
  };
  const onCopy = (event: ClipboardEvent) => {
    const selected = screen.current?.selection;
    if (!selected) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", selected);
  };
  return (
    <div
      ref={frame}
      role="img"
      aria-label={`${strings.panes.terminal}. ${strings.panes.terminalHint}.`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
      tabIndex={0}
      onKeyDown={onKeyDown}
      onCopy={onCopy}
      onPointerDown={() => frame.current?.focus()}
      className="min-h-0 flex-1 overflow-hidden py-2 ps-3 font-mono focus-visible:outline-offset-[-2px]"
    >
      <div ref={box} className="h-full" />
    </div>
  );
}
