import { ListVideo, PanelLeftClose, Search, SquarePen, X } from "lucide-react";
import { type RefObject, useEffect, useState } from "react";
import { brand, isHidden } from "@/brand";
import { AgentFilter, FilteredBy } from "@/shell/AgentFilter";
import { ChatRows, type RowActions } from "@/shell/ChatRows";
import { Logo } from "@/shell/Logo";
import { SettingsMenu } from "@/shell/SettingsMenu";
import { MODIFIER } from "@/shell/shortcuts";
import { ChatList, chats } from "@/state/chats";
import { HIDE_SIDEBAR, toggleSidebar } from "@/state/sidebar";
import { subscribe } from "@/state/tabs";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { toComposer } from "@/ui/focus";
import { RouteLink } from "@/ui/RouteLink";

interface SidebarProps extends RowActions {
  current: string | undefined;
  search: RefObject<HTMLInputElement | null>;
  /** It is beside the chat, and can be hidden. */
  canHide: boolean;
  onNew: () => void;
  onHelp: () => void;
  onRuns: () => void;
}

/** The chat list: start, search, filter, open, pin, rename and delete. */
export function Sidebar(props: SidebarProps) {
  const { current, search, canHide, onNew, onHelp, onRuns, ...actions } = props;
  const [query, setQuery] = useState("");
  const [agent, setAgent] = useState("");
  const found = useFound(query, agent);
  const [problem, setProblem] = useState("");
  return (
    <nav aria-label={strings.shell.chats} className="flex min-h-0 flex-1 flex-col bg-ground-2">
      <div className="flex h-12 shrink-0 items-center gap-2 ps-4 pe-2">
        <Logo />
        <span className="min-w-0 flex-1 truncate font-semibold">{brand.name}</span>
        {canHide && (
          <IconButton id={HIDE_SIDEBAR} label={strings.sidebar.hide} onClick={toggleSidebar}>
            <PanelLeftClose aria-hidden className="rtl:-scale-x-100" />
          </IconButton>
        )}
      </div>
      <div className="flex flex-col gap-2 px-3 pb-3">
        <Button onClick={onNew} className="justify-start bg-ground">
          <SquarePen aria-hidden className="size-4" />
          {strings.shell.newChat}
        </Button>
        <div className="flex items-center gap-2">
          {!isHidden("search") && <SearchField query={query} onQuery={setQuery} field={search} />}
          {!isHidden("agents") && <AgentFilter agent={agent} onAgent={setAgent} />}
        </div>
        <FilteredBy agent={agent} onAgent={setAgent} />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-3">
        {problem && (
          <p role="alert" className="px-3 text-block text-bad">
            {problem}
          </p>
        )}
        <ChatRows list={found} current={current} onFailed={setProblem} {...actions} />
      </div>
      <div className="flex shrink-0 items-center border-t px-2 py-1.5 pb-[max(0.375rem,env(safe-area-inset-bottom))]">
        <SettingsMenu onHelp={onHelp} />
        {!isHidden("runs") && <RunsLink onOpen={onRuns} />}
      </div>
    </nav>
  );
}

const RunsLink = ({ onOpen }: { onOpen: () => void }) => (
  <RouteLink
    to={{ page: "runs" }}
    onOpen={onOpen}
    className="ms-auto inline-flex min-h-9 items-center gap-2 rounded-lg px-3 text-block font-medium hover:bg-ground-3 max-md:min-h-11"
  >
    <ListVideo aria-hidden className="size-4" />
    {strings.inspecting.runs.title}
  </RouteLink>
);

interface SearchFieldProps {
  query: string;
  onQuery: (query: string) => void;
  field: RefObject<HTMLInputElement | null>;
}

function SearchField({ query, onQuery, field }: SearchFieldProps) {
  return (
    <search className="relative flex min-w-0 flex-1 items-center">
      <Search aria-hidden className="pointer-events-none absolute start-3 size-4 text-ink-2" />
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
        className="min-h-9 w-full rounded-lg border bg-ground pe-10 ps-9 text-block placeholder:text-ink-2 max-md:min-h-11 max-md:text-[16px]"
      />
      {query ? (
        <IconButton
          label={strings.shell.clearSearch}
          className="absolute end-0"
          onClick={() => {
            onQuery("");
            field.current?.focus();
          }}
        >
          <X aria-hidden />
        </IconButton>
      ) : (
        <kbd aria-hidden className="absolute end-3 text-label text-ink-2 max-md:hidden">
          {MODIFIER}K
        </kbd>
      )}
    </search>
  );
}

const TYPING = 200;

/** All chats, or the search results, once the user has stopped typing. */
function useFound(query: string, agent: string): ChatList {
  const wanted = query.trim();
  const [found, setFound] = useState(chats);
  useEffect(() => {
    if (!wanted && !agent) {
      setFound(chats);
      return;
    }
    const list = new ChatList(wanted, agent);
    const unsubscribe = subscribe(list.onChange);
    let isWanted = true;
    const show = () => isWanted && setFound(list);
    const timer = setTimeout(() => void list.refresh().then(show), wanted ? TYPING : 0);
    const unwatch = list.watch();
    return () => {
      isWanted = false;
      clearTimeout(timer);
      unwatch();
      unsubscribe();
    };
  }, [wanted, agent]);
  return wanted || agent ? found : chats;
}
