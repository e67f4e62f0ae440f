import { History } from "lucide-react";
import { useEffect, useRef } from "react";
import { Parts } from "@/parts/Parts";
import { replays } from "@/state/replay";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.inspector;

/** A preview of the replayed message, where no chat beside the inspector shows it. */
export function Preview({ at }: { at: number | undefined }) {
  const { shown } = useStore(replays);
  const box = useRef<HTMLElement>(null);
  const message = shown?.message;
  useEffect(() => {
    if (message) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [message]);
  if (at === undefined || !shown) return null;
  const title = words.replayed(shown.at);
  return (
    <>
      <div className="flex shrink-0 items-center gap-2 border-t-2 border-accent px-3 py-1 text-mono">
        <History aria-hidden className="size-4 shrink-0 text-accent" />
        <p className="min-w-0 flex-1 leading-tight">{title}</p>
        <Present onLeave={shown.leave} />
      </div>
      <section
        ref={box}
        aria-label={title}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
        tabIndex={0}
        className="max-h-[35%] shrink-0 overflow-y-auto border-t px-3 py-3 focus-visible:outline-offset-[-2px]"
      >
        <Parts message={shown.message} live={shown.live} />
      </section>
    </>
  );
}

/** Ends the replay. */
export const Present = ({ onLeave }: { onLeave: () => void }) => (
  <Button
    kind="solid"
    className="min-h-8! shrink-0 px-2! text-mono! max-md:min-h-11!"
    onClick={onLeave}
  >
    {words.present}
  </Button>
);
