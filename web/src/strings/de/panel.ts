import type { Strings } from "@/strings";
import { counted } from "@/strings/de/words";

export const panel: Strings["panel"] = {
  name: "Seitenbereich",
  inspect: "Untersuchen",
  inspectLine: "Zeitleiste, Ereignisse, Code und Ausgabe der Antwort",
  close: "Seitenbereich schließen",
  resize: "Breite des Seitenbereichs ändern",
  panes: "Ansichten des Laufs",
  names: { code: "Code", terminal: "Terminal", files: "Dateien", inspector: "Inspektor" },
  show: "Im Seitenbereich zeigen",
  earlier: "Frühere Antwort",
  newest: "Neueste anzeigen",
  loading: "Wird geladen …",
  broken: "Das konnte nicht angezeigt werden. Vielleicht hilft es, die Seite neu zu laden.",
  noRun: "Noch keine Nachrichten",
  noRunLine: {
    code: "Code, den der Agent schreibt und ausführt, erscheint hier.",
    terminal: "Befehle und ihre Ausgaben erscheinen hier.",
    files: "Dateien, die der Agent speichert, erscheinen hier.",
    inspector: "Rohe Ausgabe, Ereignisse und Frames erscheinen hier.",
  },
};

export const panes: Strings["panes"] = {
  error: "Fehler:",
  gone: "Lauf nicht gefunden",
  goneLine: "Vielleicht wurde sein Chat gelöscht.",
  noCode: {
    live: {
      title: "Noch kein Code ausgeführt",
      line: "Code, den der Agent ausführt, erscheint hier.",
    },
    over: { title: "Es wurde kein Code ausgeführt", line: "Zitierter Code steht in der Antwort." },
  },
  noOutput: {
    live: { title: "Noch keine Befehle", line: "Befehle und ihre Ausgaben erscheinen hier." },
    over: {
      title: "Es wurden keine Befehle ausgeführt",
      line: "Der Agent hat für diese Antwort keine Werkzeuge benutzt.",
    },
  },
  files: "Code dieser Antwort",
  step: (step) => `Schritt ${step}`,
  lines: (count) => counted(count, "Zeile", "Zeilen"),
  copyOf: "zitiert, nicht ausgeführt",
  writing: "schreibt …",
  follow: "Neuestem folgen",
  returned: "Rückgabe",
  terminal: "Terminal",
  terminalHint: "Auch als Text verfügbar",
  asText: "Als Text anzeigen",
  output: "Ausgabe der Werkzeuge",
  cut: "Gekürzt; die ganze Ausgabe steht im Chat.",
  onlyEnd: "Nur das Ende wird angezeigt. Beim Kopieren erhalten Sie alles.",
  copyCode: "Code kopieren",
  copyOutput: "Alle Ausgaben kopieren",
};
