import { getServer, type ServerFacts, type UploadLimits } from "@/api";
import { Store, useStore } from "@/store";

/** What is known of the server; nothing until it has answered. */
const state = new Store<{ facts?: ServerFacts }>({});

export const server = {
  use: () => useStore(state).facts,
  async load(): Promise<void> {
    try {
      state.set({ facts: await getServer() });
    } catch {
      // an older server, or none: the page works without these facts
    }
  },
};

/** What may be uploaded; undefined if the server does not tell. */
export async function limits(): Promise<UploadLimits | undefined> {
  if (!state.get().facts) await server.load();
  return state.get().facts?.uploads;
}
