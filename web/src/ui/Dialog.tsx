import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** The accessible description, if any. */
  line?: string;
  children: ReactNode;
}

/** A modal dialog. */
export function Dialog({ open, onClose, title, line, children }: DialogProps) {
  const opener = useOpener();
  return (
    <Radix.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-50 bg-[#00000066]" />
        <Radix.Content
          {...opener}
          {...(!line && { "aria-describedby": undefined })}
          className={classes(
            "fixed top-1/2 left-1/2 z-50 max-h-[85dvh] w-[min(26rem,calc(100vw-2rem))] overflow-y-auto",
            "-translate-x-1/2 -translate-y-1/2 rounded-large border bg-ground p-5 shadow-xl",
          )}
        >
          <Radix.Title className="pt-1 pe-9 font-semibold">{title}</Radix.Title>
          {line && (
            <Radix.Description className="mt-1 text-block break-words text-ink-2">
              {line}
            </Radix.Description>
          )}
          {children}
          {/* Last, so that the dialog's first field gets the focus. */}
          <Radix.Close asChild>
            <IconButton label={strings.shell.close} className="absolute top-4 end-3">
              <X aria-hidden />
            </IconButton>
          </Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Restores the focus on close; from a menu, which is closed by then, to its button. */
function useOpener() {
  const opener = useRef<HTMLElement>(null);
  return {
    onOpenAutoFocus: () => {
      const had = document.activeElement;
      const menu = had?.closest("[role=menu]")?.getAttribute("aria-labelledby");
      const from = menu ? document.getElementById(menu) : had;
      opener.current = from instanceof HTMLElement ? from : null;
    },
    onCloseAutoFocus: () => opener.current?.focus(),
  };
}

interface SheetProps extends DrawerProps {
  id: string;
}

/** A drawer from the right with full height, for a column that only very wide pages have. */
export function Sheet({ id, open, onClose, title, children }: SheetProps) {
  const opener = useOpener();
  return (
    <Radix.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[#00000066]" />
        <Radix.Content
          {...opener}
          id={id}
          aria-describedby={undefined}
          className={classes(
            "fixed inset-y-0 end-0 z-40 flex w-full max-w-2xl flex-col bg-ground shadow-xl outline-none",
            "pr-[env(safe-area-inset-right)] pb-[env(safe-area-inset-bottom)]",
            "transition-transform duration-200 ease-fold starting:translate-x-full rtl:starting:-translate-x-full",
          )}
        >
          <Radix.Title className="sr-only">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface DrawerProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
}

/** A drawer from the left, for a column that only wide pages have. */
export function Drawer({ open, onClose, title, children }: DrawerProps) {
  return (
    <Radix.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[#00000066]" />
        <Radix.Content
          aria-describedby={undefined}
          className={classes(
            "fixed inset-y-0 start-0 z-40 flex w-72 max-w-[85vw] flex-col bg-ground-2 shadow-xl outline-none",
            "transition-transform duration-200 ease-fold starting:-translate-x-full rtl:starting:translate-x-full",
          )}
        >
          <Radix.Title className="sr-only">{title}</Radix.Title>
          <Radix.Close asChild>
            <IconButton label={strings.shell.closeChats} className="absolute top-0.5 end-2">
              <X aria-hidden />
            </IconButton>
          </Radix.Close>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
