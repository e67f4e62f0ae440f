import { panel } from "@/state/panel";

export const PANEL = "side-panel";
export const PANEL_BUTTON = "side-panel-button";

/** By keyboard: opening the panel moves the focus into it. */
export function togglePanel(): void {
  if (panel.get().open) closePanel();
  else {
    panel.open();
    requestAnimationFrame(() => chosenTab()?.focus());
  }
}

/** Moves the focus from the closed panel to its button. */
export function closePanel(): void {
  const wasInside = document.getElementById(PANEL)?.contains(document.activeElement);
  panel.close();
  if (wasInside) document.getElementById(PANEL_BUTTON)?.focus();
}

const chosenTab = () =>
  document.getElementById(PANEL)?.querySelector<HTMLElement>("[role=tab][data-state=active]");
