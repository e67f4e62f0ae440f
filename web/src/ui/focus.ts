import { type RefObject, useEffect } from "react";

/** The composer's text field. */
export const COMPOSER = "composer";

/**
 * Moves the focus to the composer when the focused element disappears. On touch screens, where the
 * keyboard would cover the answer, to the message list.
 */
export function toComposer(): void {
  const isFine = matchMedia("(pointer: fine)").matches;
  const target = isFine ? document.getElementById(COMPOSER) : document.querySelector("[role=log]");
  if (target instanceof HTMLElement) target.focus({ preventScroll: !isFine });
}

/** Whether the user is typing in a field other than the composer. */
export function isOtherField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || target.id === COMPOSER) return false;
  return target.closest("input, textarea, select, [contenteditable=true]") !== null;
}

/** Focuses a field that has just appeared, with the caret at the end of its text. */
export function useFocusAtEnd(field: RefObject<HTMLTextAreaElement | null>): void {
  useEffect(() => {
    const area = field.current;
    area?.focus();
    area?.setSelectionRange(area.value.length, area.value.length);
  }, [field]);
}
