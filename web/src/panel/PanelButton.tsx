import { PanelRight } from "lucide-react";
import { closePanel, PANEL, PANEL_BUTTON } from "@/panel/toggle";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

/** Opens and closes the side panel. */
export function PanelButton() {
  const { open } = panel.use();
  return (
    <IconButton
      id={PANEL_BUTTON}
      label={strings.panel.name}
      aria-expanded={open}
      aria-controls={open ? PANEL : undefined}
      onClick={open ? closePanel : panel.open}
    >
      <PanelRight aria-hidden />
    </IconButton>
  );
}
