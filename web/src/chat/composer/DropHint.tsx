import { Paperclip } from "lucide-react";
import { strings } from "@/strings";

/** Shown over the chat while files are above it. */
export const DropHint = () => (
  <div
    aria-hidden
    className="pointer-events-none absolute inset-2 z-40 flex items-center justify-center rounded-large border-2 border-dashed border-accent bg-ground/85"
  >
    <span className="flex items-center gap-2 rounded-block bg-ground px-4 py-3 font-medium shadow-md">
      <Paperclip className="size-4 text-accent" />
      {strings.composer.dropHere}
    </span>
  </div>
);
