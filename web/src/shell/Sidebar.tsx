import { Search, SquarePen, X } from "lucide-react";
import { type RefObject, useEffect, useState } from "react";
import { ChatRows, type RowActions } from "@/shell/ChatRows";
import { SettingsMenu } from "@/shell/SettingsMenu";
import { MODIFIER } from "@/shell/shortcuts";
import { ChatList, chats } from "@/state/chats";
import { subscribe } from "@/state/tabs";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { toComposer } from "@/ui/focus";

interface SidebarProps extends RowActions {
  current: string | undefined;
  search: RefObject<HTMLInputElement | null>;
  onNew: () => void;
  onHelp: () => void;
}

/** The chat list: start, search, open, rename and delete. */
export function Sidebar({ current, search, onNew, onHelp, ...actions }: SidebarProps) {
  const [query, setQuery] = useState("");
  const found = useFound(query);
  return (
    <nav aria-label={strings.shell.chats} className="flex min-h-0 flex-1 flex-col bg-ground-2">
      <div className="flex h-12 shrink-0 items-center gap-2 px-4">
        <Logo />
        <span className="font-semibold">{strings.product}</span>
      </div>
      <div className="flex flex-col gap-2 px-3 pb-3">
        <Button onClick={onNew} className="justify-start bg-ground">
          <SquarePen aria-hidden className="size-4" />
          {strings.shell.newChat}
        </Button>
        <SearchField query={query} onQuery={setQuery} field={search} />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-3">
        <ChatRows list={found} current={current} {...actions} />
      </div>
      <div className="flex shrink-0 items-center border-t px-2 py-1.5 pb-[max(0.375rem,env(safe-area-inset-bottom))]">
        <SettingsMenu onHelp={onHelp} />
      </div>
    </nav>
  );
}

interface SearchFieldProps {
  query: string;
  onQuery: (query: string) => void;
  field: RefObject<HTMLInputElement | null>;
}

function SearchField({ query, onQuery, field }: SearchFieldProps) {
  return (
    <search className="relative flex items-center">
      <Search aria-hidden className="pointer-events-none absolute left-3 size-4 text-ink-2" />
      <input
        ref={field}
        type="text"
        enterKeyHint="search"
        value={query}
        maxLength={200}
        aria-label={strings.shell.search}
        placeholder={strings.shell.search}
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || event.defaultPrevented) return;
          event.preventDefault();
          if (query) onQuery("");
          else toComposer();
        }}
        className="min-h-9 w-full rounded-lg border bg-ground pr-10 pl-9 text-block placeholder:text-ink-2 max-md:min-h-11 max-md:text-[16px]"
      />
      {query ? (
        <IconButton
          label={strings.shell.clearSearch}
          className="absolute right-0"
          onClick={() => {
            onQuery("");
            field.current?.focus();
          }}
        >
          <X aria-hidden />
        </IconButton>
      ) : (
        <kbd aria-hidden className="absolute right-3 text-label text-ink-2 max-md:hidden">
          {MODIFIER}K
        </kbd>
      )}
    </search>
  );
}

const TYPING = 200;

/** All chats, or the search results, once the user has stopped typing. */
function useFound(query: string): ChatList {
  const wanted = query.trim();
  const [found, setFound] = useState(chats);
  useEffect(() => {
    if (!wanted) {
      setFound(chats);
      return;
    }
    const list = new ChatList(wanted);
    const unsubscribe = subscribe(list.onChange);
    let isWanted = true;
    const show = () => isWanted && setFound(list);
    const timer = setTimeout(() => void list.refresh().then(show), TYPING);
    return () => {
      isWanted = false;
      clearTimeout(timer);
      unsubscribe();
    };
  }, [wanted]);
  return wanted ? found : chats;
}

const Logo = () => (
  <svg aria-hidden="true" viewBox="0 0 32 32" className="size-6">
    <rect x="2" y="2" width="28" height="28" rx="8" className="fill-accent" />
    <path
      d="M8 22V11l8 7 8-7v11"
      className="fill-none stroke-accent-ink"
      strokeWidth="3"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  </svg>
);
