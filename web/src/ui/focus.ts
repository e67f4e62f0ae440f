/** The field in which the person writes to the agent. */
export const COMPOSER = "composer";

/**
 * Where the person goes on when what had the focus is gone: to the composer. A touch screen would
 * cover the answer with its keyboard, so there it is the list of messages.
 */
export function toComposer(): void {
  const isFine = matchMedia("(pointer: fine)").matches;
  const target = isFine ? document.getElementById(COMPOSER) : document.querySelector("[role=log]");
  if (target instanceof HTMLElement) target.focus({ preventScroll: !isFine });
}

/** Whether somebody writes, elsewhere than in the composer. */
export function isOtherField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || target.id === COMPOSER) return false;
  return target.closest("input, textarea, select, [contenteditable=true]") !== null;
}
