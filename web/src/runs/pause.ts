import { outage } from "@/runs/outage";

/**
 * Sleeps; ends early when the user retries, the page is online again or becomes visible, or the signal
 * is aborted.
 */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const end = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const onVisible = () => document.visibilityState === "visible" && end();
    outage.onRetry(end, over.signal);
    window.addEventListener("online", end, { signal: over.signal });
    document.addEventListener("visibilitychange", onVisible, { signal: over.signal });
    signal.addEventListener("abort", end, { signal: over.signal });
  });
}
