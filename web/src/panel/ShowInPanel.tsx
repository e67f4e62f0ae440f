import { PanelRightOpen } from "lucide-react";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

/** Shows the run of an answer in the panel. For the last answer no run is named: the panel follows. */
export const ShowInPanel = ({ runId }: { runId: string | undefined }) => (
  <IconButton label={strings.panel.show} onClick={() => panel.choose(runId)}>
    <PanelRightOpen aria-hidden />
  </IconButton>
);
