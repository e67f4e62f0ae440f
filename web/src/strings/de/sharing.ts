import type { Strings } from "@/strings";
import { counted } from "@/strings/de/words";

const DATE = new Intl.DateTimeFormat("de", { year: "numeric", month: "short", day: "numeric" });

export const sharing: Strings["sharing"] = {
  share: "Teilen …",
  title: "Diesen Chat teilen",
  line: "Wer den Link hat, kann ihn ohne Anmeldung lesen, aber nichts senden.",
  what: "Was der Link zeigt",
  shows: {
    answer: { name: "Nur Antworten", line: "Nachrichten und Antworten mit ihren Quellen." },
    tools: {
      name: "Antworten und Werkzeuge",
      line: "Auch Werkzeugaufrufe mit ihren Ergebnissen, Pläne, Unteragenten und Fragen.",
    },
    everything: {
      name: "Alles",
      line: "Auch Gedanken, verbrauchte Tokens, angehängte Dateien, Zeitleiste und Wiedergabe.",
    },
  },
  which: "Welcher Teil",
  parts: { chat: "Ganzer Chat", run: "Letzte Antwort" },
  expires: "Läuft ab",
  days: (days) => `in ${counted(days, "Tag", "Tagen")}`,
  never: "nie",
  create: "Link erstellen",
  creating: "Wird erstellt …",
  created: "Kopieren Sie den Link jetzt: Er wird nicht noch einmal angezeigt.",
  address: "Link",
  copy: "Link kopieren",
  links: "Links zu diesem Chat",
  none: "Dieser Chat ist nicht geteilt.",
  revoke: "Widerrufen",
  revokeOf: (name) => `Den Link „${name}“ widerrufen`,
  wholeChat: "Ganzer Chat",
  oneAnswer: "Eine Antwort",
  until: (at) => `bis ${DATE.format(at)}`,
  forever: "läuft nicht ab",
  expired: "abgelaufen",
  made: (at) => `erstellt am ${DATE.format(at)}`,
  facts: (facts) => facts.join(" · "),

  // The page that a link opens
  badge: "Geteilt",
  readOnly: "Geteilter Chat, nur zum Lesen",
  readOnlyRun: "Geteilte Antwort, nur zum Lesen",
  by: (agent) => `mit ${agent}`,
  working: "Der Agent arbeitet. Diese Seite aktualisiert sich von selbst.",
  waiting: "Der Agent wartet auf eine Antwort von der Person, der dieser Chat gehört.",
  untitled: "Geteilter Chat",
  goneTitle: "Dieser Link funktioniert nicht",
  goneLine:
    "Er ist abgelaufen oder wurde widerrufen, oder der Chat wurde gelöscht. Bitten Sie die Person, von der er kommt, um einen neuen.",
  fileNotShared: "Nicht geteilt",
  home: "Zu Mobox",
};
