import { PanelRightOpen } from "lucide-react";
import { isHidden } from "@/brand";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

/** Shows the run of an answer in the panel. For the last answer no run is named: the panel follows. */
export function ShowInPanel({ runId }: { runId: string | undefined }) {
  if (isHidden("panel")) return null;
  return (
    <IconButton label={strings.panel.show} onClick={() => panel.choose(runId)}>
      <PanelRightOpen aria-hidden className="rtl:-scale-x-100" />
    </IconButton>
  );
}
