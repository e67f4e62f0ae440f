import { useCallback, useSyncExternalStore } from "react";

/** `md` of the styles: room for the chat list beside the chat. */
export const WIDE = "(min-width: 48rem)";

/** Room for a third column. */
export const ROOMY = "(min-width: 68.75rem)";

/** Whether the media query matches; updates on change. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}
