import { Menu } from "lucide-react";
import type { ReactNode } from "react";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface TopBarProps {
  onOpenChats: () => void;
  children: ReactNode;
}

/** The top bar; on narrow pages it has the button of the chat list. */
export function TopBar({ onOpenChats, children }: TopBarProps) {
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b px-2 md:px-4">
      <IconButton label={strings.shell.openChats} className="md:hidden" onClick={onOpenChats}>
        <Menu aria-hidden />
      </IconButton>
      {children}
    </header>
  );
}
