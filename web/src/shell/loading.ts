import { Retries } from "@/runs/retries";
import { agents } from "@/state/agents";
import { chats } from "@/state/chats";

/**
 * Loads chats and agents, and again when the page becomes visible. If the server cannot be reached, they are
 * loaded until it answers. Returns the function that ends this.
 */
export function keepLoaded(): () => void {
  const left = new AbortController();
  const { signal } = left;
  let isLoading = false;
  const load = async () => {
    if (isLoading || document.visibilityState !== "visible") return;
    isLoading = true;
    await loadAll(signal);
    isLoading = false;
  };
  void load();
  document.addEventListener("visibilitychange", load, { signal });
  window.addEventListener("online", load, { signal });
  const unwatch = chats.watch();
  const unsubscribe = chats.state.subscribe(() => void (chats.state.get().isLost && load()));
  return () => {
    left.abort();
    unwatch();
    unsubscribe();
  };
}

async function loadAll(signal: AbortSignal): Promise<void> {
  const retries = new Retries();
  for (;;) {
    await Promise.all([chats.refresh(), agents.get().length ? undefined : agents.load()]);
    if (signal.aborted || !chats.state.get().isLost) return retries.end();
    await retries.wait(signal);
  }
}
