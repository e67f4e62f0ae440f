import { oneOf, stored } from "@/state/stored";

/**
 * Notifications of the browser, for people who look elsewhere. They are offered once; after that they are a
 * setting. Browsers allow them in secure contexts only: on other pages there is nothing to offer.
 */
export const notifying = stored<"unasked" | "on" | "off">(
  "mobox:notify",
  "unasked",
  oneOf("unasked", "on", "off"),
);

const isSupported = () => typeof Notification !== "undefined" && window.isSecureContext;

export type NoticePermission = NotificationPermission | "unsupported";

export const permission = (): NoticePermission =>
  isSupported() ? Notification.permission : "unsupported";

/** Asks the browser; to be called by a click only. Returns whether it allows notifications. */
export async function allowNotices(): Promise<boolean> {
  const isAllowed = (await Notification.requestPermission()) === "granted";
  notifying.set(isAllowed ? "on" : "off");
  return isAllowed;
}

interface Notice {
  title: string;
  line: string;
  /** A later notice with the same key replaces it. */
  key: string;
  onOpen: () => void;
}

/** Shows a notification while the page is in the background, if the person wants that. */
export function notice({ title, line, key, onOpen }: Notice): void {
  const isWanted = notifying.get() === "on" && permission() === "granted";
  if (!isWanted || document.visibilityState === "visible") return;
  try {
    const shown = new Notification(title, { body: line, tag: key });
    shown.onclick = () => {
      shown.close();
      window.focus();
      onOpen();
    };
  } catch {
    // Chrome on Android only has notifications of service workers.
  }
}
