/** Every word a person reads, in one place. A function where a number or a name goes in. */
export const strings = {
  product: "Mobox",

  // content/: Markdown, code, charts, citations
  content: {
    copy: "Copy",
    copyOf: (what: string) => `Copy ${what}`,
    copied: "Copied",
    plainText: "text",
    data: "data",
    codeIn: (language?: string) => (language ? `${language} code` : "code"),
    showAll: (characters: number) => `Show all ${characters.toLocaleString()} characters`,
    table: (columns: string[]) => `Table: ${columns.join(", ")}`,
    done: "Done:",
    open: "To do:",
    footnote: (mark: string) => `Footnote ${mark}`,
    footnotes: "Footnotes",
    backToText: "Back to the text",
    source: (number: number, title: string) => `Source ${number}: ${title}`,
    chart: "Chart",
    range: (from: string, to: string) => (from === to ? from : `${from} – ${to}`),
    chartLabel: (is: {
      title: string;
      series: string[];
      from: string;
      to: string;
      least: string;
      most: string;
    }) =>
      `Line chart: ${is.title}. ${is.series.length} series: ${is.series.join(", ")}. ` +
      `From ${is.from} to ${is.to}, values between ${is.least} and ${is.most}.`,
    asTable: "Show data as a table",
    dataOf: (title: string) => `Data of ${title}`,
    axis: { time: "Time", number: "x", word: "Name" },
    nothing: "–",
    firstRows: (shown: number, all: number) => `The first ${shown} of ${all} rows.`,
    moreSeries: (left: number) => `${left} more series not shown.`,
    noPicture: "The chart could not be drawn. Its numbers are below.",
  },

  // parts/: the blocks of an answer
  parts: {
    processing: "Processing…",
    processed: "Processed",
    processedIn: (duration: string) => `Processed in ${duration}`,
    thinking: "Thinking…",
    thought: "Thought",
    thoughtFor: (duration: string) => `Thought for ${duration}`,
  },

  // chat/: one conversation
  chat: {},

  // shell/: what is around it
  shell: {},
};
