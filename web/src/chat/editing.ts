import { Store, useStore } from "@/state/store";

/** Which message is being put in other words: one at a time, begun by its button or by the composer. */
const state = new Store<{ id?: string }>({});

export const editing = {
  use: () => useStore(state).id,
  begin: (id: string) => state.set({ id }),
  end: () => state.set({ id: undefined }),
};
