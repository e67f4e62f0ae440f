import type { Strings } from "@/strings";

export const noticing: Strings["noticing"] = {
  tab: {
    working: (title) => `Arbeitet · ${title}`,
    waiting: (title) => `Wartet auf Sie · ${title}`,
    done: (title) => `Fertig · ${title}`,
    failed: (title) => `Fehlgeschlagen · ${title}`,
  },
  notifications: {
    waiting: "Der Agent braucht Ihre Antwort.",
    done: "Der Agent ist fertig.",
    failed: "Der Agent ist gescheitert.",
  },
  offer: "Sie benachrichtigen, wenn der Agent Sie braucht oder fertig ist?",
  accept: "Benachrichtigen",
  decline: "Nein danke",
  blocked: "Der Browser blockiert Benachrichtigungen dieser Seite.",
  setting: "Im Hintergrund benachrichtigen",
  settingBlocked: "In den Einstellungen des Browsers blockiert",
  failedChat: "Die letzte Antwort ist fehlgeschlagen",
};
