import { useState } from "react";
import type { ShareLink } from "@/api";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.sharing;

interface LinkRowProps {
  link: ShareLink;
  onRevoke: (id: string) => Promise<void>;
}

/** One link: what it shows and how long, and the button that revokes it. */
export function LinkRow({ link, onRevoke }: LinkRowProps) {
  const [busy, setBusy] = useState(false);
  const name = words.shows[link.shows].name;
  const revoke = async () => {
    setBusy(true);
    await onRevoke(link.id);
    setBusy(false);
  };
  const which = link.runId === null ? words.wholeChat : words.oneAnswer;
  return (
    <li className="flex items-center gap-3 py-2">
      <div className="min-w-0 flex-1">
        <p className="text-block font-medium">{name}</p>
        <p className="text-mono text-ink-2">
          {words.facts([which, words.made(link.createdAt), endOf(link)])}
        </p>
      </div>
      <Button disabled={busy} aria-label={words.revokeOf(name)} onClick={() => void revoke()}>
        {words.revoke}
      </Button>
    </li>
  );
}

function endOf({ expiresAt }: ShareLink): string {
  if (expiresAt === null) return words.forever;
  return expiresAt <= Date.now() ? words.expired : words.until(expiresAt);
}
