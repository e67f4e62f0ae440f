import { Ellipsis, MessageCircleQuestionMark, Pencil, Trash2 } from "lucide-react";
import { memo, useEffect, useRef } from "react";
import type { ListedChat, NamedChat } from "@/api";
import { groupByTime } from "@/shell/groups";
import type { ChatList } from "@/state/chats";
import { hrefOf } from "@/state/route";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { Menu, MenuItem } from "@/ui/Menu";

export interface RowActions {
  onOpen: (id: string) => void;
  onRename: (chat: NamedChat) => void;
  onDelete: (chat: NamedChat) => void;
}

interface ChatRowsProps extends RowActions {
  list: ChatList;
  current: string | undefined;
}

/** The chats of a list, by day; loads more near its end. */
export function ChatRows({ list, current, ...actions }: ChatRowsProps) {
  const { rows, phase, isLost, before } = useStore(list.state);
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
        {list.query ? strings.shell.noResults(list.query) : strings.shell.noChats}
      </p>
    );
  }
  return (
    <>
      {groupByTime(rows, new Date()).map((group) => (
        <section key={group.label} aria-label={group.label} className="mb-3">
          <h3 className="px-3 py-1 text-mono font-medium text-ink-2">{group.label}</h3>
          <ul>
            {group.rows.map((row) => (
              <Row key={row.id} row={row} isCurrent={row.id === current} {...actions} />
            ))}
          </ul>
        </section>
      ))}
      {before && <More key={before} onNear={list.more} />}
    </>
  );
}

interface RowProps extends RowActions {
  row: ListedChat;
  isCurrent: boolean;
}

const Row = memo(function Row({ row, isCurrent, ...actions }: RowProps) {
  const { title } = row;
  return (
    <li
      className={classes(
        "group relative flex items-center rounded-lg hover:bg-ground-3",
        isCurrent && "bg-ground-3",
      )}
    >
      <a
        href={hrefOf({ page: "chat", id: row.id })}
        aria-current={isCurrent ? "page" : undefined}
        title={title}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          actions.onOpen(row.id);
        }}
        className={classes(
          "flex min-h-9 min-w-0 flex-1 items-center gap-2 rounded-lg px-3 text-block max-md:min-h-11",
          "group-focus-within:pr-10 group-hover:pr-10 group-has-data-[state=open]:pr-10 pointer-coarse:pr-12",
          isCurrent && "font-medium",
        )}
      >
        <span className="min-w-0 flex-1 truncate">{title}</span>
        {row.status && <Status status={row.status} />}
      </a>
      <Menu
        trigger={
          <IconButton
            label={strings.shell.chatMenu(title)}
            className="absolute right-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 data-[state=open]:opacity-100 pointer-coarse:opacity-100"
          >
            <Ellipsis aria-hidden />
          </IconButton>
        }
      >
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

const words = { running: strings.shell.running, waiting: strings.shell.waiting };

/** A mark: the agent is working, or waits for an answer. */
function Status({ status }: { status: "running" | "waiting" }) {
  return (
    <span role="img" aria-label={words[status]} title={words[status]} className="shrink-0">
      {status === "waiting" ? (
        <MessageCircleQuestionMark aria-hidden className="size-4 text-running" />
      ) : (
        <span aria-hidden className="block size-2 animate-shimmer rounded-full bg-accent" />
      )}
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
