import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";

/** A thumbnail; a click enlarges it. */
export function Picture({ src, name }: { src: string; name: string }) {
  return (
    <Dialog.Root>
      <Dialog.Trigger
        aria-label={strings.parts.enlarge(name)}
        className="block overflow-hidden rounded-block border bg-ground-2"
      >
        <img
          src={src}
          alt={name}
          className="max-h-60 min-h-11 max-w-full min-w-11 object-contain"
        />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-50 bg-[rgb(0_0_0/0.7)]" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-4 z-50 m-auto flex h-fit max-h-[calc(100dvh-2rem)] w-fit max-w-[calc(100vw-2rem)] flex-col rounded-large border bg-ground p-3"
        >
          <div className="mb-2 flex items-center gap-3">
            <Dialog.Title className="min-w-0 flex-1 truncate text-block font-medium">
              {name}
            </Dialog.Title>
            <Dialog.Close asChild>
              <IconButton label={strings.parts.close}>
                <X aria-hidden />
              </IconButton>
            </Dialog.Close>
          </div>
          <img
            src={src}
            alt={name}
            className="min-h-0 min-w-[min(16rem,80vw)] object-contain [image-rendering:auto]"
          />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
