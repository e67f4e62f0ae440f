import { History } from "lucide-react";
import { Parts } from "@/parts/Parts";
import type { Replay } from "@/state/replay";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

/** A message as of one event of its run, labelled as a replay. Nothing in it can be answered. */
export const Replayed = ({ replay: { message, live, at, leave } }: { replay: Replay }) => (
  <article
    aria-label={strings.chat.agent}
    className="-mx-2 flex flex-col gap-2 rounded-block px-2 pb-2 outline-2 outline-offset-2 outline-accent outline-dashed"
  >
    <div className="flex flex-wrap items-center gap-2 py-1 text-block text-ink-2">
      <History aria-hidden className="size-4 text-accent" />
      <span className="flex-1">{strings.inspector.replayed(at)}</span>
      <Button kind="quiet" onClick={leave}>
        {strings.inspector.present}
      </Button>
    </div>
    <Parts message={message} live={live} />
  </article>
);
