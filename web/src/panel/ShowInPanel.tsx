import { PanelRightOpen } from "lucide-react";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

/** Of an answer: its run goes into the panel. Of the last one, no run is named: the newest is shown. */
export const ShowInPanel = ({ runId }: { runId: string | undefined }) => (
  <IconButton label={strings.panel.show} onClick={() => panel.choose(runId)}>
    <PanelRightOpen aria-hidden />
  </IconButton>
);
