import {
  CircleAlert,
  Ellipsis,
  MessageCircleQuestionMark,
  Pencil,
  Pin,
  PinOff,
  Trash2,
} from "lucide-react";
import { Fragment, memo, useEffect, useRef } from "react";
import type { ListedChat, NamedChat } from "@/api";
import { groupByTime } from "@/shell/groups";
import { Hits } from "@/shell/Hits";
import { fullTime, shortTime } from "@/shell/times";
import { agents } from "@/state/agents";
import { type ChatList, pin } from "@/state/chats";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Menu, MenuItem } from "@/ui/Menu";
import { RouteLink } from "@/ui/RouteLink";

export interface RowActions {
  onOpen: (id: string, message?: string) => void;
  onRename: (chat: NamedChat) => void;
  onDelete: (chat: NamedChat) => void;
}

/** Shows that something did not work. */
interface Failing {
  onFailed: (words: string) => void;
}

interface ChatRowsProps extends RowActions, Failing {
  list: ChatList;
  current: string | undefined;
}

/** The chats of a list, by day; loads more near its end. */
export function ChatRows({ list, current, ...actions }: ChatRowsProps) {
  const { rows, pinned, phase, isLost, before } = useStore(list.state);
  if (phase === "failed") {
    return (
      <div className="flex flex-col items-start gap-2 px-3 py-2 text-block text-ink-2">
        {strings.shell.listFailed}
        {(list.query || !isLost) && <Button onClick={list.refresh}>{strings.retry}</Button>}
      </div>
    );
  }
  if (phase === "ready" && rows.length === 0) {
    return (
      <p role="status" className="px-3 py-2 text-block break-words text-ink-2">
        {nothingIn(list)}
      </p>
    );
  }
  const isPinned = new Set(pinned.map(({ id }) => id));
  const others = rows.filter(({ id }) => !isPinned.has(id));
  const groups = groupByTime(others, new Date());
  if (pinned.length) groups.unshift({ label: strings.sidebar.pinned, rows: pinned });
  return (
    <>
      {groups.map((group) => (
        <section key={group.label} aria-label={group.label} className="mb-3">
          <h3 className="px-3 py-1 text-mono font-medium text-ink-2">{group.label}</h3>
          <ul>
            {group.rows.map((row) => (
              <Fragment key={row.id}>
                <Row row={row} isCurrent={row.id === current} {...actions} />
                <Hits row={row} onOpen={actions.onOpen} />
              </Fragment>
            ))}
          </ul>
        </section>
      ))}
      {before && <More key={before} onNear={list.more} />}
    </>
  );
}

function nothingIn({ query, agent }: ChatList): string {
  if (query) return strings.shell.noResults(query);
  if (!agent) return strings.shell.noChats;
  return strings.sidebar.noneOf(agents.get().find(({ id }) => id === agent)?.name ?? agent);
}

interface RowProps extends RowActions, Failing {
  row: ListedChat;
  isCurrent: boolean;
}

const Row = memo(function Row({ row, isCurrent, ...actions }: RowProps) {
  const { title } = row;
  const agent = agents.use().find(({ id }) => id === row.agent);
  const when = fullTime(row.updatedAt);
  const mark = row.status ?? (row.failed ? "failed" : null);
  return (
    <li
      className={classes(
        "group relative flex items-center rounded-lg hover:bg-ground-3",
        isCurrent && "bg-ground-3",
      )}
    >
      <RouteLink
        to={{ page: "chat", id: row.id }}
        onOpen={() => actions.onOpen(row.id)}
        aria-current={isCurrent ? "page" : undefined}
        title={title}
        aria-description={agent ? `${agent.name}, ${when}` : when}
        className={classes(
          "flex min-h-9 min-w-0 flex-1 items-center gap-2 rounded-lg px-3 text-block max-md:min-h-11",
          "group-focus-within:pe-10 group-hover:pe-10 group-has-data-[state=open]:pe-10 pointer-coarse:pe-12",
          isCurrent && "font-medium",
        )}
      >
        {agent?.icon && agents.get().length > 1 && (
          <span aria-hidden title={agent.name} className="shrink-0 text-mono">
            {agent.icon}
          </span>
        )}
        <span dir="auto" className="min-w-0 flex-1 truncate text-start">
          {title}
        </span>
        {mark ? <Status status={mark} /> : <Time time={row.updatedAt} />}
      </RouteLink>
      <Menu
        trigger={
          <IconButton
            label={strings.shell.chatMenu(title)}
            className="absolute end-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 data-[state=open]:opacity-100 pointer-coarse:opacity-100"
          >
            <Ellipsis aria-hidden />
          </IconButton>
        }
      >
        <PinItem row={row} onFailed={actions.onFailed} />
        <MenuItem icon={<Pencil aria-hidden />} onSelect={() => actions.onRename(row)}>
          {strings.shell.rename}
        </MenuItem>
        <MenuItem
          kind="danger"
          icon={<Trash2 aria-hidden />}
          onSelect={() => actions.onDelete(row)}
        >
          {strings.shell.delete}
        </MenuItem>
      </Menu>
    </li>
  );
});

/** When something last happened; makes room for the menu's button. */
const Time = ({ time }: { time: number }) => (
  <time
    aria-hidden
    dateTime={new Date(time).toISOString()}
    className="shrink-0 text-label text-ink-2 tabular-nums group-focus-within:hidden group-hover:hidden group-has-data-[state=open]:hidden"
  >
    {shortTime(time, new Date())}
  </time>
);

function PinItem({ row, onFailed }: { row: ListedChat } & Failing) {
  const isPinned = Boolean(row.pinnedAt);
  const change = () => pin(row.id, !isPinned).catch(() => onFailed(strings.sidebar.notPinned));
  return (
    <MenuItem icon={isPinned ? <PinOff aria-hidden /> : <Pin aria-hidden />} onSelect={change}>
      {isPinned ? strings.sidebar.unpin : strings.sidebar.pin}
    </MenuItem>
  );
}

const MARKS = {
  running: {
    words: strings.shell.running,
    sign: <span aria-hidden className="block size-2 animate-shimmer rounded-full bg-accent" />,
  },
  waiting: {
    words: strings.shell.waiting,
    sign: <MessageCircleQuestionMark aria-hidden className="size-4 text-running" />,
  },
  failed: {
    words: strings.noticing.failedChat,
    sign: <CircleAlert aria-hidden className="size-4 text-bad" />,
  },
};

/** A mark: the agent is working, waits for an answer, or has failed. */
function Status({ status }: { status: keyof typeof MARKS }) {
  const { words, sign } = MARKS[status];
  return (
    <span role="img" aria-label={words} title={words} className="shrink-0">
      {sign}
    </span>
  );
}

/** The end of the list; loads more when it becomes visible. */
function More({ onNear }: { onNear: () => void }) {
  const mark = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const near = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && onNear(),
      { rootMargin: "300px" },
    );
    if (mark.current) near.observe(mark.current);
    return () => near.disconnect();
  }, [onNear]);
  return <div ref={mark} className="h-10" />;
}
