import { locale } from "@/language";

/** Text of the activity line and of the tools by kind: part of `strings`. */
const counted = (one: string, many: string) => (count: number) =>
  count === 1 ? `1 ${one}` : `${count.toLocaleString(locale)} ${many}`;

export const activity = {
  between: " · ",
  worked: "Worked",
  workedFor: (duration: string) => `Worked for ${duration}`,
  working: "Working…",
  /** What was done, by kind of tool. */
  counts: {
    search: counted("search", "searches"),
    shell: counted("command", "commands"),
    python: counted("Python run", "Python runs"),
    read: counted("file read", "files read"),
    edit: counted("edit", "edits"),
    http: counted("request", "requests"),
    table: counted("query", "queries"),
    image: counted("image", "images"),
    handoff: counted("hand-off", "hand-offs"),
    other: counted("tool call", "tool calls"),
  },
  subagents: counted("subagent", "subagents"),
  failed: (count: number) => `${count.toLocaleString(locale)} failed`,
  denied: (count: number) => `${count.toLocaleString(locale)} denied`,
  stopped: (count: number) => `${count.toLocaleString(locale)} stopped`,
  /** What is being done, by kind of tool. */
  now: {
    search: (what: string) => `Searching: ${what}`,
    shell: (what: string) => `Running: ${what}`,
    python: (what: string) => `Running Python: ${what}`,
    read: (what: string) => `Reading ${what}`,
    edit: (what: string) => `Editing ${what}`,
    http: (what: string) => `Fetching ${what}`,
    table: (what: string) => `Querying: ${what}`,
    image: (what: string) => `Making an image: ${what}`,
    handoff: (what: string) => what,
    other: (what: string) => what,
  },
  nowOther: (tool: string, what: string) => (what ? `${tool}: ${what}` : tool),
  tookOver: (agent: string) => `${agent} took over`,
  plan: "Plan",
  compaction: "Compacted the conversation",
  showEvery: "Show every step",

  raw: "Raw call",
  rawInput: "Raw input",
  rawResult: "Raw result",
  more: "More parameters",
  command: "Command",
  output: "Output",
  noOutput: "No output.",
  exitCode: (code: number) => `exit code ${code}`,
  file: "File",
  changes: "Changes",
  written: "Written file",
  query: "Query",
  found: counted("result", "results"),
  code: "Code",
  response: "Response",
  picture: (number: number) => `Image ${number}`,
  rows: (shown: number, all: number) =>
    shown === all
      ? counted("row", "rows")(all)
      : `The first ${shown.toLocaleString(locale)} of ${all.toLocaleString(locale)} rows`,
  table: "Result as a table",
  allLines: (count: number) => `Show all ${count.toLocaleString(locale)} lines`,
  members: counted("member", "members"),
  items: counted("item", "items"),
  moreItems: (count: number) => `Show ${count.toLocaleString(locale)} more`,

  crashed: "The agent crashed",
  errorCode: (code: string) => `Code: ${code}`,
  showStderr: "Show stderr",
};
