import { Menu, PanelLeftOpen, X } from "lucide-react";
import type { ReactNode } from "react";
import { closeFrame, frame } from "@/frame";
import { SHOW_SIDEBAR, sidebarShown, toggleSidebar } from "@/state/sidebar";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface TopBarProps {
  onOpenChats: () => void;
  children: ReactNode;
}

/**
 * The top bar; on narrow pages and in frames it has the button that opens the chat list, on wide ones the button
 * that shows it again.
 */
export function TopBar({ onOpenChats, children }: TopBarProps) {
  const [isShown] = sidebarShown.use();
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b px-2 md:px-4">
      <IconButton
        label={strings.shell.openChats}
        className={frame.isEmbedded ? undefined : "md:hidden"}
        onClick={onOpenChats}
      >
        <Menu aria-hidden />
      </IconButton>
      {!isShown && !frame.isEmbedded && (
        <IconButton
          id={SHOW_SIDEBAR}
          label={strings.sidebar.show}
          className="-ms-2 max-md:hidden"
          onClick={toggleSidebar}
        >
          <PanelLeftOpen aria-hidden className="rtl:-scale-x-100" />
        </IconButton>
      )}
      {children}
      {frame.canClose && (
        <IconButton label={strings.sidebar.closeEmbedded} onClick={closeFrame}>
          <X aria-hidden />
        </IconButton>
      )}
    </header>
  );
}
