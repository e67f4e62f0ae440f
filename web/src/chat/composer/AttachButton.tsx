import { Paperclip } from "lucide-react";
import { useRef } from "react";
import { uploads } from "@/state/uploads";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { toComposer } from "@/ui/focus";

/** Opens the browser's file dialog. */
export function AttachButton({ draft, disabled }: { draft: string; disabled?: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        label={strings.composer.attach}
        disabled={disabled}
        onClick={() => input.current?.click()}
      >
        <Paperclip aria-hidden />
      </IconButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        tabIndex={-1}
        aria-hidden
        onChange={({ target }) => {
          uploads.add(draft, Array.from(target.files ?? []));
          target.value = ""; // the same file may be selected again
          toComposer();
        }}
      />
    </>
  );
}
