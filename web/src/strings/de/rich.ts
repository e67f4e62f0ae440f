import type { Strings } from "@/strings";

export const rich: Strings["rich"] = {
  formula: "Formel",
  brokenFormula: "Diese Formel konnte nicht angezeigt werden.",
  pendingFormula: "Eine Formel wird geschrieben.",

  diagrams: {
    flowchart: "Flussdiagramm",
    sequence: "Sequenzdiagramm",
    class: "Klassendiagramm",
    state: "Zustandsdiagramm",
    entities: "Entity-Relationship-Diagramm",
    gantt: "Gantt-Diagramm",
    pie: "Kreisdiagramm",
    journey: "Nutzerreise",
    timeline: "Zeitleiste",
    quadrant: "Quadrantendiagramm",
    chart: "Diagramm",
    requirement: "Anforderungsdiagramm",
    kanban: "Kanban-Tafel",
  },
  diagramOf: (kind, title) => (title ? `${kind}: ${title}` : kind),
  sourceOf: (name) => `Quelltext, ${name}`,
  drawing: "Ein Diagramm wird gezeichnet …",
  notDrawn: {
    broken: "Dieses Diagramm konnte nicht gezeichnet werden. Das ist sein Quelltext.",
    unknown: "Diagramme dieser Art werden hier nicht gezeichnet. Das ist sein Quelltext.",
    large: "Dieses Diagramm ist zu groß zum Zeichnen. Das ist sein Quelltext.",
    loads: "Diagramme mit Bildern werden nicht gezeichnet. Das ist sein Quelltext.",
  },
  showSource: "Quelltext anzeigen",
  showDiagram: "Diagramm anzeigen",
  copySource: "Quelltext kopieren",
  downloadSvg: "Als SVG herunterladen",
  enlargeDiagram: "Diagramm vergrößern",

  wrap: "Zeilen umbrechen",
  numbers: "Zeilennummern",
  downloadCode: "Code herunterladen",
};
