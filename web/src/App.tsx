import { Direction } from "radix-ui";
import {
  type ComponentType,
  lazy,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { NamedChat } from "@/api";
import { isHidden } from "@/brand";
import { Chat } from "@/chat/Chat";
import { frame } from "@/frame";
import { newId } from "@/ids";
import { credentials } from "@/key";
import { direction } from "@/language";
import { togglePanel } from "@/panel/toggle";
import { DeleteDialog, HelpDialog, RenameDialog } from "@/shell/dialogs";
import { KeyForm } from "@/shell/KeyForm";
import { keepLoaded } from "@/shell/loading";
import { noticeOthers } from "@/shell/noticing";
import { PermissionsDialog } from "@/shell/Permissions";
import { ShareDialog } from "@/shell/ShareDialog";
import { Sidebar } from "@/shell/Sidebar";
import { useShortcuts } from "@/shell/shortcuts";
import { drafts, NEW_CHAT } from "@/state/drafts";
import { navigate, type Route, useRoute } from "@/state/route";
import { sidebarShown, toggleSidebar } from "@/state/sidebar";
import { useTheme } from "@/state/theme";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Drawer } from "@/ui/Dialog";
import { COMPOSER } from "@/ui/focus";
import { Notice } from "@/ui/Notice";
import { TopBar } from "@/ui/TopBar";
import { useMedia, WIDE } from "@/ui/useMedia";
import { dropped } from "@/view/dropped";
import { useDropping } from "@/view/useDropping";

const RunPages = lazy(() => import("@/runPages/RunPages"));

type OpenDialog = { what: "delete" | "rename" | "permissions" | "share"; chat: NamedChat };

/** Pages without the chats of a user: rare, so loaded on demand. */
const OTHERS: Partial<Record<Route["page"], ComponentType>> = {
  shared: lazy(() => import("@/shared/SharedPage")),
  view: lazy(() => import("@/view/ViewPage")),
};

/** The page, or the sign-in form. */
export function App() {
  const { isLocked, hasKey, isOfApp } = useStore(credentials);
  useTheme();
  const { page } = useRoute();
  return (
    <Direction.Provider dir={direction}>
      {isLocked && page !== "shared" ? (
        <KeyForm isRefused={hasKey} isOfApp={isOfApp} />
      ) : (
        <Routed page={page} />
      )}
    </Direction.Provider>
  );
}

function Routed({ page }: { page: Route["page"] }) {
  const Other = OTHERS[page];
  if (!Other) return <Page />;
  return (
    <Suspense fallback={null}>
      <Other />
    </Suspense>
  );
}

/** A file that nothing else on the page takes is a recording to look at. */
const viewFile = (file: File) => {
  if (isHidden("view")) return;
  dropped.put(file);
  navigate({ page: "view" });
};

/** The current chat and its agent. */
function Page() {
  const route = useRoute();
  const fresh = useFreshId(route);
  const [drawer, setDrawer] = useState(false);
  const [help, setHelp] = useState(false);
  const [dialog, setDialog] = useState<OpenDialog>();
  const search = useRef<HTMLInputElement>(null);
  const isWide = useMedia(WIDE) && !frame.isEmbedded;
  const [isListShown, showList] = sidebarShown.use();
  if (isWide && drawer) setDrawer(false);
  const current = route.page === "chat" ? route.id : undefined;
  useEffect(keepLoaded, []);
  useEffect(() => noticeOthers((chat) => chat === current), [current]);

  const openNew = useCallback(() => {
    setDrawer(false);
    navigate({ page: "new" });
    requestAnimationFrame(() => document.getElementById(COMPOSER)?.focus());
  }, []);
  const openRuns = useCallback(() => {
    setDrawer(false);
    navigate({ page: "runs" });
  }, []);
  const openSearch = useCallback(() => {
    if (isWide) showList(true);
    else setDrawer(true);
    requestAnimationFrame(() => search.current?.focus());
  }, [isWide, showList]);
  const openHelp = useCallback(() => {
    setDrawer(false);
    setHelp(true);
  }, []);
  const toggleList = useCallback(() => {
    if (isWide) toggleSidebar();
    else setDrawer((isOpen) => !isOpen);
  }, [isWide]);
  useShortcuts({
    onSearch: openSearch,
    onNew: openNew,
    onPanel: togglePanel,
    onSidebar: toggleList,
    onHelp: openHelp,
  });

  useDropping(viewFile);

  const rowActions = useMemo(
    () => ({
      onOpen: (id: string, message?: string) => {
        setDrawer(false);
        navigate({ page: "chat", id, message });
      },
      onRename: (chat: NamedChat) => setDialog({ what: "rename", chat }),
      onDelete: (chat: NamedChat) => setDialog({ what: "delete", chat }),
    }),
    [],
  );
  const id = current ?? fresh;
  const onStarted = () => {
    if (route.page === "new") navigate({ page: "chat", id: fresh });
  };
  const sidebar = (
    <Sidebar
      current={current}
      search={search}
      canHide={isWide}
      onNew={openNew}
      onHelp={openHelp}
      onRuns={openRuns}
      {...rowActions}
    />
  );
  return (
    <div className="flex h-dvh overflow-hidden pr-[env(safe-area-inset-right)] pl-[env(safe-area-inset-left)]">
      {isChat(route) && <SkipLink />}
      {isWide && isListShown && (
        <div className="flex w-64 shrink-0 flex-col border-e">{sidebar}</div>
      )}
      {!isWide && (
        <Drawer open={drawer} onClose={() => setDrawer(false)} title={strings.shell.chats}>
          {sidebar}
        </Drawer>
      )}
      {route.page === "unknown" ? (
        <main className="flex min-w-0 flex-1 flex-col">
          <TopBar onOpenChats={() => setDrawer(true)}>
            <h1 className="truncate text-sm font-semibold">{strings.chat.missing}</h1>
          </TopBar>
          <Notice title={strings.chat.missingTitle} line={strings.chat.missingLine}>
            <Button onClick={openNew}>{strings.chat.missingBack}</Button>
          </Notice>
        </main>
      ) : isRuns(route) ? (
        <Suspense fallback={<main className="flex-1" />}>
          <RunPages route={route} onOpenChats={() => setDrawer(true)} />
        </Suspense>
      ) : (
        <Chat
          key={id}
          id={id}
          isNew={route.page === "new"}
          onStarted={onStarted}
          onNew={openNew}
          onOpenChats={() => setDrawer(true)}
          onRename={rowActions.onRename}
          onPermissions={(chat) => setDialog({ what: "permissions", chat })}
          onShare={(chat) => setDialog({ what: "share", chat })}
          onDelete={rowActions.onDelete}
        />
      )}
      <HelpDialog open={help} onClose={() => setHelp(false)} />
      {dialog?.what === "delete" && (
        <DeleteDialog
          chat={dialog.chat}
          onClose={() => setDialog(undefined)}
          onDone={() => dialog.chat.id === current && openNew()}
        />
      )}
      {dialog?.what === "rename" && (
        <RenameDialog chat={dialog.chat} onClose={() => setDialog(undefined)} />
      )}
      {dialog?.what === "share" && (
        <ShareDialog chat={dialog.chat} onClose={() => setDialog(undefined)} />
      )}
      {dialog?.what === "permissions" && (
        <PermissionsDialog chat={dialog.chat} onClose={() => setDialog(undefined)} />
      )}
    </div>
  );
}

const isRuns = ({ page }: Route): boolean => ["runs", "run", "compare"].includes(page);
const isChat = ({ page }: Route): boolean => page === "new" || page === "chat";

/**
 * The id for a new chat; changes with every navigation. A reload keeps the id of a chat whose first message
 * may have arrived.
 */
function useFreshId(route: Route): string {
  const [fresh, setFresh] = useState(() => {
    return { route, id: drafts.attempt(NEW_CHAT)?.chat ?? newId() };
  });
  if (fresh.route === route) return fresh.id;
  const next = { route, id: newId() };
  setFresh(next);
  return next.id;
}

/** Skip link past the chat list. */
const SkipLink = () => (
  <button
    type="button"
    onClick={() => document.getElementById(COMPOSER)?.focus()}
    className="sr-only z-50 rounded-lg border bg-ground text-block font-medium shadow-md focus:not-sr-only focus:px-3 focus:py-2 focus:absolute focus:top-2 focus:start-2"
  >
    {strings.shell.skip}
  </button>
);
