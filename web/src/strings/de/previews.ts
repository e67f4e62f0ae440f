import type { Strings } from "@/strings";
import { counted, number } from "@/strings/de/words";

const DATE = new Intl.DateTimeFormat("de", { dateStyle: "medium", timeStyle: "short" });

export const previews: Strings["previews"] = {
  count: (files) => counted(files, "Datei", "Dateien"),
  more: (shown) => `Die ${number(shown)} neuesten Dateien werden angezeigt.`,
  about: (size, time) => `${size} · ${time}`,
  time: (ms) => DATE.format(ms),
  refresh: "Liste aktualisieren",
  noFiles: "Noch keine Dateien",
  noFilesLine: "Dateien, die der Agent in diesem Chat speichert, erscheinen hier.",
  elsewhere: "Dateien sind hier nicht verfügbar",
  elsewhereLine: "Der Agent lief auf einem anderen Rechner, der seine Dateien behält.",
  notListed: "Die Dateien konnten nicht geladen werden",
  notListedLine: "Der Server hat nicht geantwortet.",

  preview: (name) => `Vorschau von ${name} anzeigen`,
  previewOf: (name) => `Vorschau von ${name}`,
  back: "Alle Dateien",
  reload: "Datei neu laden",
  download: "Herunterladen",
  downloadOf: (name) => `${name} herunterladen`,
  notDownloaded: "Konnte nicht heruntergeladen werden. Versuchen Sie es erneut.",
  showSource: "Quelltext anzeigen",
  showRendered: "Vorschau anzeigen",
  loading: "Wird geladen …",
  pageOf: (name) => `Inhalt von ${name}`,
  htmlNote: "Ohne Skripte und ohne Netzzugriff angezeigt.",
  table: "Tabelle",
  cut: (rows) => `Die ersten ${number(rows)} Zeilen werden angezeigt.`,
  noPreview: "Für diese Art von Datei gibt es keine Vorschau.",
  unread: {
    failed: "Die Datei konnte nicht geladen werden.",
    large: "Diese Datei ist zu groß für eine Vorschau.",
  },
  type: "Typ",
  unknownType: "unbekannt",
  size: "Größe",
  changed: "Geändert",
};
