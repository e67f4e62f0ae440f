/**
 * Mermaid, loaded with the first diagram.
 *
 * Rule 1: one drawing at a time: its settings, such as the theme, are global.
 * Rule 2: its settings are ours. `factsOf` removes those of the text, `secure` protects them again.
 * Rule 3: it measures text in the page, in a place that nobody sees; only `drawingOf` leaves it.
 */
import mermaid from "mermaid";
import { LONGEST } from "@/content/diagrams/kinds";
import { type Drawing, drawingOf } from "@/content/diagrams/svg";

const EDGES = 250;
/** Fonts that a picture has, too: it cannot use those of the page. */
const FONT = "ui-sans-serif, system-ui, sans-serif";

const COLOURS = {
  light: {
    background: "#ffffff",
    primaryColor: "#eeedfd",
    primaryBorderColor: "#8d89fa",
    primaryTextColor: "#1c1b19",
    secondaryColor: "#eff9f7",
    tertiaryColor: "#f7f7f4",
    lineColor: "#5c5a54",
    textColor: "#1c1b19",
    noteBkgColor: "#fff4e2",
    noteTextColor: "#1c1b19",
    errorBkgColor: "#fef0ee",
  },
  dark: {
    background: "#17171a",
    primaryColor: "#2b2a4a",
    primaryBorderColor: "#8d89fa",
    primaryTextColor: "#ececef",
    secondaryColor: "#13272a",
    tertiaryColor: "#26262b",
    lineColor: "#a5a4ab",
    textColor: "#ececef",
    noteBkgColor: "#33240f",
    noteTextColor: "#ececef",
    errorBkgColor: "#361714",
  },
};

/** Slices, bars and sections: light enough for dark text in both themes. */
const SERIES = [
  "#a5a2fb",
  "#6fcabf",
  "#f2b45c",
  "#e99abb",
  "#86b8f6",
  "#b9cc72",
  "#c9b1f9",
  "#f29a8d",
];
const TEXT_ON_SERIES = "#1c1b19";

/** Of sections that have text in the theme's own colour. */
const HUES = [243, 172, 36, 335, 212, 70, 262, 7];

const sectionOf = (hue: number, isDark: boolean) =>
  isDark ? `hsl(${hue}, 35%, 26%)` : `hsl(${hue}, 70%, 86%)`;

const chartOf = ({ textColor, lineColor }: { textColor: string; lineColor: string }) => ({
  plotColorPalette: SERIES.join(","),
  backgroundColor: "transparent",
  titleColor: textColor,
  dataLabelColor: textColor,
  xAxisTitleColor: textColor,
  xAxisLabelColor: textColor,
  xAxisTickColor: lineColor,
  xAxisLineColor: lineColor,
  yAxisTitleColor: textColor,
  yAxisLabelColor: textColor,
  yAxisTickColor: lineColor,
  yAxisLineColor: lineColor,
});

const seriesOf = (isDark: boolean) => ({
  ...Object.fromEntries(SERIES.map((colour, place) => [`pie${place + 1}`, colour])),
  pieSectionTextColor: TEXT_ON_SERIES,
  pieTitleTextSize: "18px",
  pieStrokeWidth: "1px",
  pieOuterStrokeWidth: "0px",
  pieStrokeColor: COLOURS[isDark ? "dark" : "light"].background,
  pieOpacity: "1",
  ...Object.fromEntries(HUES.map((hue, place) => [`cScale${place}`, sectionOf(hue, isDark)])),
  edgeLabelBackground: COLOURS[isDark ? "dark" : "light"].background,
  xyChart: chartOf(COLOURS[isDark ? "dark" : "light"]),
});

let last: Promise<unknown> = Promise.resolve();
let count = 0;

/** Draws a diagram; rejects if it cannot. */
export function draw(source: string, isDark: boolean): Promise<Drawing> {
  const drawn = last.then(() => drawNow(source, isDark));
  last = drawn.catch(() => {});
  return drawn;
}

async function drawNow(source: string, isDark: boolean): Promise<Drawing> {
  mermaid.initialize(settings(isDark));
  const place = hiddenPlace();
  try {
    count += 1;
    const { svg } = await mermaid.render(`diagram-${count}`, source, place);
    const drawing = drawingOf(svg);
    if (!drawing) throw new Error("nothing was drawn");
    return drawing;
  } finally {
    place.remove();
  }
}

function settings(isDark: boolean) {
  const own = {
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    maxTextSize: LONGEST,
    maxEdges: EDGES,
    htmlLabels: false,
    deterministicIds: true,
    fontFamily: FONT,
    theme: "base",
    themeVariables: {
      ...COLOURS[isDark ? "dark" : "light"],
      ...seriesOf(isDark),
      darkMode: isDark,
      fontFamily: FONT,
    },
    flowchart: { htmlLabels: false, useMaxWidth: false },
    class: { htmlLabels: false },
  } as const;
  return {
    ...own,
    secure: [...Object.keys(own), "secure", "themeCSS", "layout", "look", "dompurifyConfig"],
  };
}

function hiddenPlace(): HTMLElement {
  const place = document.createElement("div");
  place.setAttribute("aria-hidden", "true");
  place.inert = true;
  // Laid out, as text is measured in it, but neither seen nor scrolled to.
  place.style.cssText = "position:fixed;inset:0 auto auto -10000px;width:720px;visibility:hidden";
  document.body.append(place);
  return place;
}
