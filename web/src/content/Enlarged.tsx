import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import type { ReactNode } from "react";
import { ScrollBox } from "@/content/ScrollBox";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

interface EnlargedProps {
  /** The name of the button. */
  label: string;
  title: string;
  icon: ReactNode;
  children: ReactNode;
}

/** A button that shows something over the whole page. */
export const Enlarged = ({ label, title, icon, children }: EnlargedProps) => (
  <Dialog.Root>
    <Dialog.Trigger asChild>
      <IconButton label={label}>{icon}</IconButton>
    </Dialog.Trigger>
    <Dialog.Portal>
      <Dialog.Overlay className="fixed inset-0 z-50 bg-[rgb(0_0_0/0.7)]" />
      <Dialog.Content
        aria-describedby={undefined}
        className="fixed inset-2 z-50 flex flex-col overflow-hidden rounded-large border bg-ground md:inset-6"
      >
        <div className="flex items-center gap-3 border-b p-2 ps-4">
          <Dialog.Title className="min-w-0 flex-1 truncate text-block font-medium">
            {title}
          </Dialog.Title>
          <Dialog.Close asChild>
            <IconButton label={strings.parts.close}>
              <X aria-hidden />
            </IconButton>
          </Dialog.Close>
        </div>
        <ScrollBox label={title} className="grid min-h-0 flex-1 overflow-auto p-4">
          {children}
        </ScrollBox>
      </Dialog.Content>
    </Dialog.Portal>
  </Dialog.Root>
);
