import { Store } from "@/store";

interface Access {
  /** Nothing can be sent, answered, edited or regenerated: the chat is somebody else's. */
  readOnly: boolean;
  /** Runs can be inspected. */
  inspects: boolean;
}

/** What the user may do with the chat on this page. */
export const access = new Store<Access>({ readOnly: false, inspects: true });
