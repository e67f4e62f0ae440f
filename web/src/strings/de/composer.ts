import type { Strings } from "@/strings";
import { counted, number } from "@/strings/de/words";

export const composer: Strings["composer"] = {
  attach: "Dateien anhängen",
  dropHere: "Dateien hier ablegen, um sie anzuhängen",
  attachments: "Anhänge",
  uploading: (percent) => `Wird hochgeladen, ${number(percent)} %`,
  remove: (name) => `${name} entfernen`,
  retry: (name) => `${name} noch einmal hochladen`,
  problems: {
    tooLarge: (most) => `Zu groß. Eine Datei darf höchstens ${most} haben.`,
    tooLargeUnknown: "Zu groß für diesen Server.",
    full: (most) =>
      `Ihre Dateien füllen die ${most}, die Sie speichern dürfen. Löschen Sie zuerst alte Chats.`,
    fullUnknown: "Ihr Speicher ist voll. Löschen Sie zuerst alte Chats.",
    offline: "Sie sind offline. Laden Sie die Datei noch einmal hoch, wenn Sie zurück sind.",
    lost: "Der Server ist nicht erreichbar. Laden Sie die Datei gleich noch einmal hoch.",
    folder: "Ordner können nicht angehängt werden. Hängen Sie die Dateien darin an.",
    cutOff:
      "Das Hochladen wurde durch das Neuladen der Seite abgebrochen. Hängen Sie die Datei noch einmal an.",
    refused: (message) => `Nicht hochgeladen: ${message}`,
  },
  otherType: (type) => `Keine gültige Datei vom Typ ${type}: wird als Binärdaten gesendet.`,
  stillUploading: "Wird noch hochgeladen. Senden Sie, wenn es fertig ist.",
  removeFailed:
    "Eine Datei wurde nicht hochgeladen. Versuchen Sie es noch einmal, oder entfernen Sie sie.",

  queue: {
    name: "Nachrichten in der Warteschlange",
    count: (count) => `${counted(count, "Nachricht", "Nachrichten")} in der Warteschlange`,
    editOf: (text) => `Wartende Nachricht bearbeiten: ${text}`,
    editing: "Die wartende Nachricht bearbeiten",
    save: "Speichern",
    cancel: "Abbrechen",
    takeBackOf: (text) => `Ins Nachrichtenfeld zurückholen: ${text}`,
    sendNow: "Jetzt senden",
    sendNowOf: (text) => `Jetzt senden: ${text}`,
    sendNowHint: "Hält den Agenten an und sendet diese Nachricht",
    files: (count) => counted(count, "Datei", "Dateien"),
    notes: {
      working: "Wird gesendet, wenn der Agent fertig ist.",
      waiting: "Wird gesendet, wenn Sie die Frage oben beantwortet haben.",
      failed: "Nicht gesendet, weil die letzte Antwort fehlgeschlagen ist.",
      stopped: "Nicht gesendet, weil Sie den Agenten angehalten haben.",
      unfinished: "Nicht gesendet, weil die letzte Antwort nicht vollständig ist.",
      refused: "Nicht gesendet: Der Server hat sie abgewiesen.",
      editing: "Wird gesendet, wenn Sie mit dem Bearbeiten fertig sind.",
      offline: "Wird gesendet, wenn der Server erreichbar ist.",
    },
  },

  slash: {
    name: "Agenten und Vorschläge",
    shortcut: "Agenten und Vorschläge (wenn das Feld leer ist)",
    agents: "Agenten",
    starters: "Vorschläge",
    found: (count) => counted(count, "Vorschlag", "Vorschläge"),
  },
};
