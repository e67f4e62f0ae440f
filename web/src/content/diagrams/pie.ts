/**
 * Replaces Mermaid's second parser (aliased in vite.config.ts): of the diagrams that we draw only the pie
 * uses it, and it is as large as all the rest.
 */
interface Pie {
  $type: "Pie";
  showData: boolean;
  title?: string;
  accTitle?: string;
  accDescr?: string;
  sections: { $type: "PieSection"; label: string; value: number }[];
}

const SECTION = /^"([^"]*)"\s*:\s*(-?\d+(?:\.\d+)?)$|^'([^']*)'\s*:\s*(-?\d+(?:\.\d+)?)$/;
const HEAD = /^pie\b\s*(showData\b)?\s*(?:title\s+(.*))?$/;
const ABOUT = /^(accTitle|accDescr|title)\s*:?\s+(.*)$/;

export async function parse(type: string, text: string): Promise<Pie> {
  const [head = "", ...lines] = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const found = HEAD.exec(head);
  if (type !== "pie" || !found) throw new Error(`no parser for ${type}`);
  const pie: Pie = { $type: "Pie", showData: Boolean(found[1]), sections: [] };
  if (found[2]) pie.title = found[2];
  for (const line of lines) readLine(line, pie);
  return pie;
}

function readLine(line: string, pie: Pie): void {
  if (line === "showData") {
    pie.showData = true;
    return;
  }
  const about = ABOUT.exec(line);
  if (about) {
    pie[about[1] as "title"] = about[2] as string;
    return;
  }
  const section = SECTION.exec(line);
  if (!section) throw new Error(`not a slice: ${line}`);
  const label = section[1] ?? section[3] ?? "";
  pie.sections.push({ $type: "PieSection", label, value: Number(section[2] ?? section[4]) });
}
