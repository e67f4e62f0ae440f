import { panel } from "@/state/panel";
import { Store } from "@/store";

/** A file that the panel can show: of a message, or one that an agent made. */
export interface PreviewedFile {
  name: string;
  mediaType: string;
  size?: number;
  /** When it was changed, in ms. */
  modifiedAt?: number;
  /** Its address: inline bytes, or a route of this server. */
  url: string;
}

const store = new Store<{ file: PreviewedFile | undefined }>({ file: undefined });

/** The file in the panel's Files pane; without one it shows the list. */
export const preview = {
  store,
  open: (file: PreviewedFile) => {
    store.set({ file });
    panel.openAt("files");
  },
  close: () => store.set({ file: undefined }),
};
