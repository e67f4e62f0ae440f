import { LoaderCircle, RotateCw, ServerOff, WifiOff } from "lucide-react";
import type { ReactNode } from "react";
import type { ConversationState } from "@/chat/conversationState";
import { type Outage, useOutage } from "@/chat/useOutage";
import { outage } from "@/runs/outage";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { toComposer } from "@/ui/focus";
import { Notice } from "@/ui/Notice";

const words = strings.shell;

interface BannerProps {
  state: ConversationState;
}

/** Shows that the server does not answer. The live region is always rendered, usually empty. */
export function Banner({ state }: BannerProps) {
  const now = useOutage();
  const isFailed = now.is === "failed";
  // A chat that is not loaded shows it in the chat's place.
  const isShown = now.is !== "fine" && !(isFailed && state.phase === "loading");
  return (
    <div className={isShown ? "shrink-0 border-b bg-running-ground px-4 py-1.5 text-running" : ""}>
      <div className="mx-auto flex max-w-4xl flex-wrap items-center justify-center gap-x-3 gap-y-1 text-block">
        <div className={classes("flex min-w-0 items-center gap-2", isFailed && "flex-1 basis-64")}>
          {isShown && <Mark now={now} />}
          <p role="status">
            {isShown && isFailed && (
              <>
                <strong className="font-semibold">{strings.parts.requestFailed}.</strong>{" "}
                {reason(now, state)}
              </>
            )}
            {isShown && SHORT[now.is]}
          </p>
        </div>
        {isShown && isFailed && <Again now={now} className="justify-between max-md:grow" />}
      </div>
    </div>
  );
}

function Mark({ now: { is, isOnline } }: { now: Outage }) {
  const Icon = !isOnline ? WifiOff : is === "failed" ? ServerOff : LoaderCircle;
  const isBusy = Icon === LoaderCircle;
  return <Icon aria-hidden className={classes("size-4 shrink-0", isBusy && "animate-spin")} />;
}

const SHORT: Partial<Record<Outage["is"], string>> = {
  offline: words.offline,
  pending: words.pending,
  reconnecting: words.reconnecting,
};

/** The same, in place of a chat that is not loaded; `children`: what is there otherwise. */
export function Unloaded({ children }: { children: ReactNode }) {
  const now = useOutage();
  if (now.is !== "failed") return children;
  const line = now.isOnline ? words.unreachable : words.offlineShort;
  return (
    <Notice title={strings.parts.requestFailed} line={line} live>
      <Again now={now} className="text-block text-ink-2" />
    </Notice>
  );
}

/** Why requests fail, and what becomes of the user's action. */
function reason({ isOnline }: Outage, { stopping, unsent }: ConversationState): string {
  const next = stopping ? words.notStopped : unsent && words.unsent[unsent];
  if (next) return `${isOnline ? words.unreachable : words.offlineShort} ${next}`;
  return isOnline ? words.unreachable : words.offline;
}

/** When the next attempt is, and a button to make it now. Not in the live region: it changes every second. */
const Again = ({ now, className }: { now: Outage; className?: string }) => (
  <span className={classes("inline-flex items-center gap-3", className)}>
    <span className="tabular-nums">{words.againIn(now.seconds)}</span>
    <Button ref={leaving} onClick={outage.retry} className="bg-ground">
      <RotateCw aria-hidden className="size-4" />
      {strings.retry}
    </Button>
  </span>
);

/** The focus must not be lost with the button. */
const leaving = (button: HTMLButtonElement) => () => {
  if (document.activeElement === button) toComposer();
};
