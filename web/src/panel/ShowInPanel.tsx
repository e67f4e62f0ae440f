import { PanelRightOpen } from "lucide-react";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

/** Of an answer: its run goes into the panel. */
export const ShowInPanel = ({ runId }: { runId: string }) => (
  <IconButton label={strings.panel.show} onClick={() => panel.choose(runId)}>
    <PanelRightOpen aria-hidden />
  </IconButton>
);
