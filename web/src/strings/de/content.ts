import type { Strings } from "@/strings";
import { number } from "@/strings/de/words";

export const content: Strings["content"] = {
  copy: "Kopieren",
  copyOf: (what) => `${what} kopieren`,
  copied: "Kopiert",
  copyRefused: "Der Browser hat das Kopieren verhindert.",
  plainText: "Text",
  data: "Daten",
  codeIn: (language) => (language ? `${language}-Code` : "Code"),
  showAll: (characters) => `Alle ${number(characters)} Zeichen anzeigen`,
  table: (columns) => `Tabelle: ${columns.join(", ")}`,
  done: "Erledigt:",
  open: "Zu tun:",
  footnote: (mark) => `Fußnote ${mark}`,
  footnotes: "Fußnoten",
  backToText: "Zurück zum Text",
  source: (number, title) => `Quelle ${number}: ${title}`,
  chart: "Diagramm",
  range: (from, to) => (from === to ? from : `${from} – ${to}`),
  chartLabel: (is) =>
    `Liniendiagramm: ${is.title}. ${is.series.length} Reihen: ${is.series.join(", ")}. ` +
    `Von ${is.from} bis ${is.to}, Werte zwischen ${is.least} und ${is.most}.`,
  asTable: "Daten als Tabelle anzeigen",
  dataOf: (title) => `Daten von ${title}`,
  axis: { time: "Zeit", number: "x", word: "Name" },
  nothing: "–",
  firstRows: (shown, all) => `Die ersten ${number(shown)} von ${number(all)} Zeilen.`,
  moreSeries: (left) => `${number(left)} weitere Reihen nicht angezeigt.`,
  noPicture: "Das Diagramm konnte nicht gezeichnet werden. Die Zahlen stehen darunter.",
};
