import type { ListedChat } from "@/api";
import { chats } from "@/state/chats";
import { notice } from "@/state/notices";
import { navigate } from "@/state/route";
import { strings } from "@/strings";

const { notifications } = strings.noticing;

/** Notifies of runs in chats that are not open; the open one does that itself. Returns the function that ends it. */
export function noticeOthers(isOpen: (chat: string) => boolean): () => void {
  let before = runningIn(listed());
  return chats.state.subscribe(() => {
    const rows = listed();
    for (const row of rows) {
      const hasChanged = before.has(row.id) && row.status !== "running";
      if (hasChanged && !isOpen(row.id)) tell(row);
    }
    before = runningIn(rows);
  });
}

/** Each listed chat once: a pinned one may be on none of the loaded pages. */
function listed(): ListedChat[] {
  const { rows, pinned } = chats.state.get();
  return [...new Map([...rows, ...pinned].map((row) => [row.id, row])).values()];
}

const runningIn = (rows: ListedChat[]) =>
  new Set(rows.filter(({ status }) => status === "running").map(({ id }) => id));

function tell({ id, title, status, failed }: ListedChat): void {
  const line = status === "waiting" ? "waiting" : failed ? "failed" : "done";
  const onOpen = () => navigate({ page: "chat", id });
  notice({ title, line: notifications[line], key: id, onOpen });
}
