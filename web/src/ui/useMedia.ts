import { useCallback, useSyncExternalStore } from "react";

/** As wide as `md` in the styles: there is room for the chats beside the chat. */
export const WIDE = "(min-width: 48rem)";

/** There is room for a third column. */
export const ROOMY = "(min-width: 68.75rem)";

/** Whether the page is shown as the query says, now and later. */
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
