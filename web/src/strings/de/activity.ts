import type { Strings } from "@/strings";
import { counted, number } from "@/strings/de/words";

const of = (one: string, other: string) => (count: number) => counted(count, one, other);

export const activity: Strings["activity"] = {
  between: " · ",
  worked: "Gearbeitet",
  workedFor: (duration) => `${duration} gearbeitet`,
  working: "Arbeitet …",
  counts: {
    search: of("Suche", "Suchen"),
    shell: of("Befehl", "Befehle"),
    python: of("Python-Aufruf", "Python-Aufrufe"),
    read: of("Datei gelesen", "Dateien gelesen"),
    edit: of("Änderung", "Änderungen"),
    http: of("Anfrage", "Anfragen"),
    table: of("Abfrage", "Abfragen"),
    image: of("Bild", "Bilder"),
    handoff: of("Übergabe", "Übergaben"),
    other: of("Werkzeugaufruf", "Werkzeugaufrufe"),
  },
  subagents: of("Unteragent", "Unteragenten"),
  failed: (count) => `${number(count)} fehlgeschlagen`,
  denied: (count) => `${number(count)} abgelehnt`,
  stopped: (count) => `${number(count)} angehalten`,
  now: {
    search: (what) => `Sucht: ${what}`,
    shell: (what) => `Führt aus: ${what}`,
    python: (what) => `Führt Python aus: ${what}`,
    read: (what) => `Liest ${what}`,
    edit: (what) => `Ändert ${what}`,
    http: (what) => `Ruft ${what} ab`,
    table: (what) => `Fragt ab: ${what}`,
    image: (what) => `Erzeugt ein Bild: ${what}`,
    handoff: (what) => what,
    other: (what) => what,
  },
  nowOther: (tool, what) => (what ? `${tool}: ${what}` : tool),
  tookOver: (agent) => `${agent} hat übernommen`,
  plan: "Plan",
  compaction: "Unterhaltung verdichtet",
  showEvery: "Jeden Schritt anzeigen",

  raw: "Roher Aufruf",
  rawInput: "Rohe Eingabe",
  rawResult: "Rohes Ergebnis",
  more: "Weitere Parameter",
  command: "Befehl",
  output: "Ausgabe",
  noOutput: "Keine Ausgabe.",
  exitCode: (code) => `Exit-Code ${code}`,
  file: "Datei",
  changes: "Änderungen",
  written: "Geschriebene Datei",
  query: "Abfrage",
  found: of("Ergebnis", "Ergebnisse"),
  code: "Code",
  response: "Antwort",
  picture: (number) => `Bild ${number}`,
  rows: (shown, all) =>
    shown === all
      ? counted(all, "Zeile", "Zeilen")
      : `Die ersten ${number(shown)} von ${number(all)} Zeilen`,
  table: "Ergebnis als Tabelle",
  allLines: (count) => `Alle ${number(count)} Zeilen anzeigen`,
  members: of("Feld", "Felder"),
  items: of("Element", "Elemente"),
  moreItems: (count) => `${number(count)} weitere anzeigen`,

  crashed: "Der Agent ist abgestürzt",
  errorCode: (code) => `Fehlercode: ${code}`,
  showStderr: "stderr anzeigen",
};
