import { newId } from "@/ids";
import { fieldsOf, isFields, listOf, textOf } from "@/json";
import { type Attachment, isAttachment } from "@/state/attachments";
import { stored } from "@/state/stored";
import { Store, useStore } from "@/store";

/**
 * Messages that were written while the agent worked. They wait in this tab, in order, until the chat's run
 * has ended. Each has the id of its message and its idempotency key from the start: one that is sent again
 * after a reload, or from a duplicated tab, is stored once.
 */
export interface Queued {
  /** The id of the message. */
  id: string;
  idempotencyKey: string;
  text: string;
  files: Attachment[];
  agent?: string;
}
type Queues = Record<string, Queued[]>;

const isQueued = (value: unknown): value is Queued => {
  const { id, idempotencyKey, text, files } = fieldsOf(value);
  const words = [id, idempotencyKey, text].every((each) => textOf(each) !== undefined);
  return words && Array.isArray(files) && files.every(isAttachment);
};
const isQueues = (value: unknown): value is Queues =>
  isFields(value) &&
  Object.values(value).every((each) => Array.isArray(each) && listOf(each).every(isQueued));

const all = stored<Queues>("mobox:queue", {}, isQueues, () => sessionStorage);
/** The one that is being sent, and the one that is being edited. */
const now = new Store<{ sending?: string; editing?: string }>({});

const NONE: Queued[] = [];
const of = (chat: string): Queued[] => all.get()[chat] ?? NONE;

function put(chat: string, queue: Queued[]): void {
  const { [chat]: _before, ...others } = all.get();
  all.set(queue.length ? { ...others, [chat]: queue } : others);
}

/** The messages that wait, without the one that is being sent. */
export function useQueue(chat: string): Queued[] {
  const [known] = all.use();
  const { sending } = useStore(now);
  const queue = known[chat] ?? NONE;
  return queue.some(({ id }) => id === sending) ? queue.filter(({ id }) => id !== sending) : queue;
}

export const useEdited = () => useStore(now).editing;

export const queue = {
  get: of,
  add(chat: string, message: Pick<Queued, "text" | "files" | "agent">): void {
    put(chat, [...of(chat), { ...message, id: newId(), idempotencyKey: newId() }]);
  },
  /** Other words make it another message. */
  change(chat: string, id: string, text: string): void {
    const changed = { text, id: newId(), idempotencyKey: newId() };
    put(
      chat,
      of(chat).map((each) => (each.id === id ? { ...each, ...changed } : each)),
    );
  },
  remove(chat: string, id: string): Queued | undefined {
    const found = of(chat).find((each) => each.id === id);
    if (found)
      put(
        chat,
        of(chat).filter((each) => each !== found),
      );
    if (now.get().sending === id) now.set({ sending: undefined });
    return found;
  },
  /** Hides it while it is sent; it stays here until the server has accepted it. */
  send: (id: string): void => now.set({ sending: id }),
  /** It was not accepted: it waits again. */
  takeBack: (): void => now.set({ sending: undefined }),
  sending: () => now.get().sending,
  edit: (id: string | undefined): void => now.set({ editing: id }),
  editing: () => now.get().editing,
};
