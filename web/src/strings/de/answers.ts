import type { Strings } from "@/strings";
import { counted, number } from "@/strings/de/words";

const tokens = (count: number) => counted(count, "Token", "Tokens");

export const answers: Strings["answers"] = {
  versions: "Versionen dieser Nachricht",
  versionOf: (number, count) => `Version ${number} von ${count}`,
  counter: (number, count) => `${number}/${count}`,
  previous: "Vorige Version",
  next: "Nächste Version",
  shown: (number, count) => `Version ${number} von ${count} wird angezeigt.`,
  busy: "Der Agent arbeitet oder wartet auf Sie. Halten Sie ihn an oder warten Sie, bis er fertig ist, um andere Versionen zu sehen.",

  made: (names, more) =>
    more > 0
      ? `${names.join(", ")} und ${number(more)} weitere Dateien erstellt`
      : `${names.join(", ")} erstellt`,
  answeredAt: (when) => `Antwort vom ${when}`,

  usage: "Tokens dieser Antwort",
  input: "Gelesene Tokens",
  cacheRead: "aus dem Cache gelesen",
  cacheWrite: "in den Cache geschrieben",
  output: "Geschriebene Tokens",
  reasoning: "zum Nachdenken",
  cost: "Kosten",
  noCost: "keine, das Modell ist simuliert",
  duration: "Dauer",
  turns: "Modellaufrufe",
  model: "Modell",
  context: "Kontext",
  contextOf: (used, window) => `${number(used)} von ${tokens(window)}`,
  contextFull: (percent) => `zu ${number(percent)} % voll`,
  tokens,

  chatUsage: "Verbrauch dieses Chats",
  chatUsageLine: "Alle Antworten mit allen Versionen.",
  chatUsageButton: (total) => `Verbrauch dieses Chats: ${total}`,
  count: "Antworten",
  lastContext: "Kontext der letzten Antwort",
  usageMenu: "Verbrauch",
  nothingKnown: "Kein Agent dieses Chats hat seine Tokens gemeldet.",

  good: "Gute Antwort",
  bad: "Schlechte Antwort",
  comment: "Kommentar hinzufügen",
  editComment: "Ihren Kommentar bearbeiten",
  commentField: "Kommentar zu dieser Antwort (freiwillig)",
  commentPlaceholder: { up: "Was war gut?", down: "Was war falsch?" },
  saveComment: "Speichern",
  cancelComment: "Abbrechen",
  feedbackFailed: "Ihre Bewertung konnte nicht gespeichert werden. Versuchen Sie es noch einmal.",
  feedback: { up: "👍 Gute Antwort", down: "👎 Schlechte Antwort" },
};
