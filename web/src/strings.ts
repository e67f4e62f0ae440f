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
    working: "Working…",
    processing: "Processing…",
    processed: "Processed",
    processedIn: (duration: string) => `Processed in ${duration}`,
    thinking: "Thinking…",
    thought: "Thought",
    thoughtFor: (duration: string) => `Thought for ${duration}`,
    instant: "less than a second",
    seconds: (seconds: number) => `${seconds}s`,
    minutes: (minutes: number, seconds: number) => `${minutes}m ${seconds}s`,

    callStates: {
      preparing: "Preparing",
      running: "Running",
      asking: "Waiting for you",
      answered: "Answered",
      done: "Done",
      failed: "Failed",
      denied: "Denied",
      stopped: "Stopped",
    },
    parameters: "Parameters",
    result: "Result",
    noResult: "No result yet.",
    usedTools: (count: number) => `Used ${count} tools`,
    failedTools: (count: number) => `${count} failed`,
    refused: "Refused",

    steps: (count: number) => (count === 1 ? "1 step" : `${count} steps`),
    stepsDone: (done: number, count: number) => `${done} of ${count} done`,
    itemStates: {
      pending: "To do",
      running: "In progress",
      done: "Done",
      failed: "Failed",
      stopped: "Stopped",
    },

    subagent: "Subagent",
    inBackground: "in the background",
    task: "Task",

    approvalTitle: "May the agent do this?",
    approve: "Approve",
    deny: "Deny",
    denyReason: "Reason (optional)",
    denyReasonHint: "Say why, and the agent will hear it",
    approved: "You approved this.",
    denied: "You denied this.",
    because: (reason: string) => `Reason: ${reason}`,
    sending: "Sending…",
    notSent: "Your answer could not be sent. Try again.",

    question: "The agent asks",
    yourAnswer: "Your answer",
    optional: "(optional)",
    otherAnswer: "Something else",
    send: "Send",
    openLink: (host: string) => `Open ${host}`,
    finishedLink: "I am done",
    unanswered: "Nobody answered.",
    cancelled: "The question was taken back.",
    answered: "Answered.",
    answeredWith: "You answered",
    yes: "Yes",
    no: "No",

    files: "Files",
    enlarge: (name: string) => `Enlarge ${name}`,
    download: "Download",
    openFile: "Opens in a new tab",
    unreachableFile: "Only the provider has this file",
    close: "Close",
    source: "Source",
    sources: "Sources",
    page: (page: number) => `page ${page}`,
    moreSources: (count: number) => `${count} more found`,
    foundSources: (count: number) => (count === 1 ? "Found 1 source" : `Found ${count} sources`),
    data: "Data",

    error: "Error",
    requestFailed: "Request Failed",
    retry: "Retry",
    endings: {
      length: "The answer ends here: it reached the greatest length allowed.",
      max_turns: "The agent stopped here: it has taken all the turns it may.",
      content_filter: "The answer was stopped by a content filter.",
      refusal: "The model declined to go on.",
      truncated: "The answer broke off before its end.",
      cancelled: "You stopped this answer.",
      interrupted: "This answer was interrupted.",
    } as Record<string, string>,

    speakers: { user: "You", assistant: "Agent", system: "System" } as Record<string, string>,
    tokensIn: (count: string) => `${count} in`,
    tokensOut: (count: string) => `${count} out`,
    usage: "Usage",
    cacheRead: (count: string) => `${count} read from cache`,
    cacheWrite: (count: string) => `${count} written to cache`,
    reasoningTokens: (count: string) => `${count} for reasoning`,
    turns: (count: number) => (count === 1 ? "1 turn" : `${count} turns`),
  },

  // chat/: one conversation
  chat: {},

  // shell/: what is around it
  shell: {},
};
