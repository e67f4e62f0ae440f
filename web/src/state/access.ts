import { isHidden } from "@/brand";
import { Store, useStore } from "@/store";

interface Access {
  /** Nothing can be sent, answered, edited or regenerated: the chat is somebody else's. */
  readOnly: boolean;
  /** Runs can be inspected. */
  inspects: boolean;
}

/** What the user may do with the chat on this page. */
export const access = new Store<Access>({ readOnly: false, inspects: true });

/** Whether the side panel can show the files and the output of this chat: not those of somebody else's. */
export function useHasPanel(): boolean {
  const { readOnly } = useStore(access);
  return !readOnly && !isHidden("panel");
}
