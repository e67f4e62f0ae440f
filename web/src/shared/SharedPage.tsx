import { Eye, Share2 } from "lucide-react";
import { useEffect } from "react";
import type { SharedView } from "@/api";
import { brand } from "@/brand";
import { Banner, Unloaded } from "@/chat/Banner";
import { MessageList } from "@/chat/MessageList";
import { PanelButton } from "@/panel/PanelButton";
import { SidePanel } from "@/panel/SidePanel";
import { useShownRun } from "@/panel/useShownRun";
import { useSharedChat } from "@/shared/useSharedChat";
import { access } from "@/state/access";
import { strings } from "@/strings";
import { Notice } from "@/ui/Notice";

const words = strings.sharing;
const NOTHING_EDITED = () => {};

/** A chat that a link opens: the same messages as its owner sees, as far as they are shared, read-only. */
export default function SharedPage() {
  const { conversation, state, messages, view } = useSharedChat();
  const inspects = view?.shows === "everything";
  useEffect(() => access.set({ readOnly: true, inspects }), [inspects]);
  const shown = useShownRun(messages);
  const title = view?.title ?? words.untitled;
  useEffect(() => {
    document.title = `${title} · ${brand.name}`;
  }, [title]);
  const isGone = state.phase === "missing";
  return (
    <div className="flex h-dvh overflow-hidden ps-[env(safe-area-inset-left)] pe-[env(safe-area-inset-right)]">
      <main className="@container flex h-full min-w-0 flex-1 flex-col">
        <header className="flex min-h-12 shrink-0 items-center gap-3 border-b px-4">
          <h1 title={title} className="min-w-0 flex-1 truncate text-sm font-semibold">
            {isGone ? words.untitled : title}
          </h1>
          {!isGone && <Badge />}
          {inspects && <PanelButton />}
        </header>
        <Banner state={state} />
        {isGone && <Gone />}
        {state.phase === "unreadable" && (
          <Notice title={strings.chat.unreadableTitle} line={state.refused?.message ?? ""}>
            <button
              type="button"
              className="min-h-11 rounded-lg border px-4 text-block font-medium hover:bg-ground-3"
              onClick={conversation.reload}
            >
              {strings.retry}
            </button>
          </Notice>
        )}
        {state.phase === "loading" && (
          <Unloaded>
            <p role="status" className="p-6 text-center text-block text-ink-2">
              {strings.chat.loading}
            </p>
          </Unloaded>
        )}
        {state.phase === "ready" && (
          <MessageList
            messages={messages}
            conversation={conversation}
            state={state}
            agent={undefined}
            editing={undefined}
            onEditing={NOTHING_EDITED}
          />
        )}
        {state.phase === "ready" && view && <Foot view={view} life={state.life} />}
      </main>
      {inspects && <SidePanel {...shown} />}
    </div>
  );
}

const Badge = () => (
  <span className="inline-flex shrink-0 items-center gap-1.5 rounded-full border px-2.5 py-1 text-mono font-medium text-ink-2">
    <Share2 aria-hidden className="size-3.5" />
    {words.badge}
  </span>
);

interface FootProps {
  view: SharedView;
  life: keyof typeof NOW;
}

const NOW = { idle: undefined, working: words.working, waiting: words.waiting };

/** In place of the composer: what this is, and that nothing can be sent. */
function Foot({ view, life }: FootProps) {
  const facts = [
    view.runId === null ? words.readOnly : words.readOnlyRun,
    ...(view.agent ? [words.by(view.agent)] : []),
    ...(view.expiresAt === null ? [] : [words.until(view.expiresAt)]),
  ];
  return (
    <footer className="shrink-0 border-t bg-ground-2 px-4 pt-2.5 pb-[max(0.625rem,env(safe-area-inset-bottom))]">
      <div className="mx-auto flex max-w-3xl items-start gap-2 text-block text-ink-2">
        <Eye aria-hidden className="mt-0.5 size-4 shrink-0" />
        <div className="min-w-0">
          <p>{words.facts(facts)}</p>
          <p role="status" className="text-ink">
            {NOW[life]}
          </p>
        </div>
      </div>
    </footer>
  );
}

const Gone = () => (
  <Notice title={words.goneTitle} line={words.goneLine}>
    <a
      href={document.baseURI}
      className="inline-flex min-h-11 items-center rounded-lg border px-4 text-block font-medium hover:bg-ground-3"
    >
      {words.home}
    </a>
  </Notice>
);
