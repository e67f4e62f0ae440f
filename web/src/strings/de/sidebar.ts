import type { Strings } from "@/strings";

export const sidebar: Strings["sidebar"] = {
  hide: "Chat-Liste ausblenden",
  show: "Chat-Liste einblenden",
  toggleShortcut: "Chat-Liste aus- oder einblenden",
  pinned: "Angeheftet",
  pin: "Anheften",
  unpin: "Lösen",
  notPinned: "Das Anheften konnte nicht geändert werden. Versuchen Sie es noch einmal.",
  filter: "Nach Agent filtern",
  filteredBy: (agent) => `Nur Chats mit ${agent}`,
  allAgents: "Alle Agenten",
  noneOf: (agent) => `Keine Chats mit ${agent}.`,
  hitsOf: (title) => `Gefunden in „${title}“`,
  fromYou: "Sie:",
  fromAgent: "Agent:",
  jumped: "Das ist die Nachricht, die die Suche gefunden hat.",
  notThere: "Die Nachricht ist nicht mehr in diesem Chat.",
  language: "Sprache",
  languageOfBrowser: "Wie der Browser",
  closeEmbedded: "Chat schließen",
};
