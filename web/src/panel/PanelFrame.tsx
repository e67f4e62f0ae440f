import type { ReactNode } from "react";
import { Resizer, usePanelWidth } from "@/panel/Resizer";
import { closePanel, PANEL } from "@/panel/toggle";
import { panel } from "@/state/panel";
import { strings } from "@/strings";
import { Sheet } from "@/ui/Dialog";
import { ROOMY, useMedia } from "@/ui/useMedia";

/** The open side panel: beside the chat where there is room, else over it. */
export function PanelFrame({ children }: { children: ReactNode }) {
  const { open } = panel.use();
  const isRoomy = useMedia(ROOMY);
  if (!isRoomy) {
    return (
      <Sheet id={PANEL} open={open} onClose={closePanel} title={strings.panel.name}>
        {children}
      </Sheet>
    );
  }
  return open ? <Beside>{children}</Beside> : null;
}

function Beside({ children }: { children: ReactNode }) {
  const width = usePanelWidth();
  return (
    <>
      <Resizer width={width} />
      <aside
        id={PANEL}
        aria-label={strings.panel.name}
        style={{ width }}
        className="flex h-full shrink-0 flex-col"
      >
        {children}
      </aside>
    </>
  );
}
