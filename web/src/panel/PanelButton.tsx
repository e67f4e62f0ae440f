import { ScanSearch } from "lucide-react";
import { isHidden } from "@/brand";
import { closePanel, PANEL, PANEL_BUTTON } from "@/panel/toggle";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

/** Opens and closes the side panel. */
export function PanelButton() {
  const { open } = panel.use();
  if (isHidden("panel")) return null;
  return (
    <Button
      kind="quiet"
      id={PANEL_BUTTON}
      title={strings.panel.inspectLine}
      className="shrink-0 px-2! text-ink-2"
      aria-expanded={open}
      aria-controls={open ? PANEL : undefined}
      onClick={open ? closePanel : panel.open}
    >
      <ScanSearch aria-hidden className="size-4" />
      {strings.panel.inspect}
    </Button>
  );
}
