import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { NamedChat } from "@/api";
import { Chat } from "@/chat/Chat";
import { newId } from "@/ids";
import { credentials } from "@/key";
import { togglePanel } from "@/panel/toggle";
import { DeleteDialog, HelpDialog, RenameDialog } from "@/shell/dialogs";
import { KeyForm } from "@/shell/KeyForm";
import { keepLoaded } from "@/shell/loading";
import { PermissionsDialog } from "@/shell/Permissions";
import { Sidebar } from "@/shell/Sidebar";
import { useShortcuts } from "@/shell/shortcuts";
import { drafts, NEW_CHAT } from "@/state/drafts";
import { navigate, type Route, useRoute } from "@/state/route";
import { useTheme } from "@/state/theme";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Drawer } from "@/ui/Dialog";
import { COMPOSER } from "@/ui/focus";
import { Notice } from "@/ui/Notice";
import { TopBar } from "@/ui/TopBar";
import { useMedia, WIDE } from "@/ui/useMedia";

type OpenDialog = { what: "delete" | "rename" | "permissions"; chat: NamedChat };

/** The page, or the sign-in form. */
export function App() {
  const { isLocked, hasKey, isOfApp } = useStore(credentials);
  useTheme();
  return isLocked ? <KeyForm isRefused={hasKey} isOfApp={isOfApp} /> : <Page />;
}

/** The current chat and its agent. */
function Page() {
  const route = useRoute();
  const fresh = useFreshId(route);
  const [drawer, setDrawer] = useState(false);
  const [help, setHelp] = useState(false);
  const [dialog, setDialog] = useState<OpenDialog>();
  const search = useRef<HTMLInputElement>(null);
  const isWide = useMedia(WIDE);
  if (isWide && drawer) setDrawer(false);
  const current = route.page === "chat" ? route.id : undefined;
  useEffect(keepLoaded, []);

  const openNew = useCallback(() => {
    setDrawer(false);
    navigate({ page: "new" });
    requestAnimationFrame(() => document.getElementById(COMPOSER)?.focus());
  }, []);
  const openSearch = useCallback(() => {
    setDrawer(true);
    requestAnimationFrame(() => search.current?.focus());
  }, []);
  const openHelp = useCallback(() => {
    setDrawer(false);
    setHelp(true);
  }, []);
  useShortcuts({ onSearch: openSearch, onNew: openNew, onPanel: togglePanel, onHelp: openHelp });

  const rowActions = useMemo(
    () => ({
      onOpen: (id: string) => {
        setDrawer(false);
        navigate({ page: "chat", id });
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
    <Sidebar current={current} search={search} onNew={openNew} onHelp={openHelp} {...rowActions} />
  );
  return (
    <div className="flex h-dvh overflow-hidden pr-[env(safe-area-inset-right)] pl-[env(safe-area-inset-left)]">
      {route.page !== "unknown" && <SkipLink />}
      {isWide ? (
        <div className="flex w-64 shrink-0 flex-col border-r">{sidebar}</div>
      ) : (
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
      {dialog?.what === "permissions" && (
        <PermissionsDialog chat={dialog.chat} onClose={() => setDialog(undefined)} />
      )}
    </div>
  );
}

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
    className="sr-only z-50 rounded-lg border bg-ground text-block font-medium shadow-md focus:not-sr-only focus:px-3 focus:py-2 focus:absolute focus:top-2 focus:left-2"
  >
    {strings.shell.skip}
  </button>
);
