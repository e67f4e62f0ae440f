import { activity } from "@/strings/activity";
import { answers } from "@/strings/answers";
import { catalogue } from "@/strings/catalogues";
import { composer } from "@/strings/composer";
import { number } from "@/strings/english";
import { inspecting } from "@/strings/inspecting";
import { inspector } from "@/strings/inspector";
import { noticing } from "@/strings/noticing";
import { previews } from "@/strings/previews";
import { rich } from "@/strings/rich";
import { sharing } from "@/strings/sharing";
import { sidebar } from "@/strings/sidebar";
import { viewing } from "@/strings/viewing";

const tokens = (count: number) => (count === 1 ? "1 token" : `${number(count)} tokens`);

/** All text of the page, in English. Entries that take a number or a name are functions. */
const english = {
  retry: "Retry",
  rich,
  previews,
  /** Where a model's responses come from, unless from its provider. */
  models: { simulated: "simulated model", recorded: "recorded model" } as Record<string, string>,

  // content/: Markdown, code, charts, citations
  content: {
    copy: "Copy",
    copyOf: (what: string) => `Copy ${what}`,
    copied: "Copied",
    copyRefused: "Your browser blocked copying.",
    plainText: "text",
    data: "data",
    codeIn: (language?: string) => (language ? `${language} code` : "code"),
    showAll: (characters: number) => `Show all ${number(characters)} characters`,
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
    firstRows: (shown: number, all: number) => `Showing the first ${shown} of ${all} rows.`,
    moreSeries: (left: number) => `${left} more series not shown.`,
    noPicture: "Couldn't draw the chart. The numbers are below.",
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
    seconds: (seconds: number) => `${seconds}s`,
    minutes: (minutes: number, seconds: number) => `${minutes}m ${seconds}s`,

    callStates: {
      preparing: "Preparing",
      running: "Running",
      waiting: "Waiting for you",
      answered: "Answered",
      done: "Done",
      failed: "Failed",
      denied: "Denied",
      stopped: "Stopped",
    },
    parameters: "Parameters",
    result: "Result",
    noResult: "No result.",
    noResultYet: "No result yet.",
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

    approvalTitle: "Allow this action?",
    approve: "Approve",
    allowForChat: "Allow for this chat",
    allowTool: "This tool, with any input",
    allowInput: "This tool, with this input only",
    allowedForChat: "Allowed for this chat.",
    edit: "Edit…",
    editedInput: "Tool input",
    editedJson: "Tool input as JSON",
    approveChanged: "Approve with changes",
    notJson: (problem: string) => `Invalid JSON: ${problem}`,
    notObject: "The input must be a JSON object: { … }",
    respond: "Respond…",
    response: "Your response, used as the tool's result",
    sendResponse: "Send response",
    deny: "Deny",
    denyBecause: "Deny with a reason…",
    denyReason: "Reason for denying",
    denyWithReason: "Deny with this reason",
    cancel: "Cancel",
    approved: "You approved this.",
    approvedChanged: "You approved this with changes:",
    changedInput: "Changed input",
    denied: "You denied this.",
    approvedBecause: (reason: string) => `You approved this: ${reason}`,
    deniedBecause: (reason: string) => `You denied this: ${reason}`,
    sending: "Sending…",
    notSent: "Couldn't send your answer. Try again.",

    question: "The agent has a question",
    yourAnswer: "Your answer",
    optional: "(optional)",
    otherAnswer: "Something else",
    send: "Send",
    openLink: (host: string) => `Open ${host}`,
    finishedLink: "Done, continue",
    unanswered: "No answer was given.",
    cancelled: "The agent withdrew the question.",
    answered: "Answered.",
    answeredWith: "You answered",
    yes: "Yes",
    no: "No",

    enlarge: (name: string) => `Enlarge ${name}`,
    download: "Download",
    openFile: "Opens in a new tab",
    unreachableFile: "Stored at the provider, not downloadable here",
    close: "Close",
    source: "Source",
    sources: "Sources",
    page: (page: number) => `page ${page}`,
    moreSources: (count: number) => `${count} more found`,
    foundSources: (count: number) => (count === 1 ? "Found 1 source" : `Found ${count} sources`),
    data: "Data",

    error: "Error",
    requestFailed: "Request Failed",
    endings: {
      length: "Cut off at the maximum length.",
      max_turns: "Stopped at the turn limit.",
      content_filter: "Stopped by a content filter.",
      refusal: "The model declined to continue.",
      truncated: "The answer ended unexpectedly.",
      cancelled: "You stopped this answer.",
      interrupted: "This answer was interrupted.",
    } as Record<string, string>,

    speakers: { user: "You", assistant: "Agent", system: "System" } as Record<string, string>,
    tokensIn: (count: number) => `${tokens(count)} in`,
    tokensOut: (count: number) => `${number(count)} out`,
    tokensOnlyOut: (count: number) => `${tokens(count)} out`,
  },

  // chat/: one conversation
  chat: {
    newChat: "New chat",
    log: "Conversation",
    you: "You",
    agent: "Agent",
    yourMessage: "Your message",
    placeholders: {
      idle: "Write a message, or / for ideas",
      working: "Write the next message",
      waiting: "Waiting for your answer above",
    },
    send: "Send",
    queue: "Send when the agent is done",
    stop: "Stop",
    stopHint: "Stop (Esc)",
    stopping: "Stopping…",
    takenBack: "Not sent. Your text is back in this box.",
    regenerate: "Regenerate",
    edit: "Edit",
    saveEdit: "Send",
    cancel: "Cancel",
    editing: "Edit your message",
    editReplaces: "Sends a new version. What follows stays with the old one.",
    toEnd: "Scroll to the end",
    older: "Show older messages",
    loadingOlder: "Loading older messages…",
    loading: "Loading the chat…",
    emptyTitle: "What can I do for you?",
    emptyLine: (agent = "the agent") => `You'll see every step ${agent} takes.`,
    simulated: "Its model is simulated: the server has no provider's key.",
    announcements: {
      working: "The agent is working.",
      finished: "The agent finished.",
      failed: "The agent failed.",
      stopped: "The agent was stopped.",
      waiting: "The agent needs your answer.",
    },
    missing: "Not found",
    missingTitle: "Chat not found",
    missingLine: "It was deleted, or the link is wrong.",
    missingBack: "Start a new chat",
    unreadableTitle: "Couldn't load this chat",
    demo: "Demo",
    demoHint: "Demo mode: your next messages go to the demo agent.",
    demoOnly: "Only the demo agent is installed. Add yours in agents/.",
    menu: "Chat options",
    rename: "Rename",
    permissions: "Permissions",
    copyAll: "Copy conversation",
    exportMarkdown: "Export as Markdown",
    exportJson: "Export as JSON",
    delete: "Delete",
    exportFailed: "Couldn't export the chat.",
    failures: {
      lost: "Can't reach the server. Try again in a moment.",
      busy: "The agent is still working in this chat.",
      gone: "This chat was deleted.",
    },
    dismiss: "Dismiss",
    starters: ["What can you do?", "Help me plan a task step by step."],
  },

  // chat/: who answered, versions, feedback, tokens
  answers,
  // chat/: the composer, and what the tab shows of a run
  composer,
  noticing,

  // panel/: the side panel of a run
  panel: {
    name: "Side panel",
    inspect: "Inspect",
    inspectLine: "Timeline, events, code and output of the answer",
    close: "Close the side panel",
    resize: "Resize the side panel",
    panes: "Views of the run",
    names: { code: "Code", terminal: "Terminal", files: "Files", inspector: "Inspector" },
    show: "Show in panel",
    earlier: "Earlier answer",
    newest: "Show latest",
    loading: "Loading…",
    broken: "Couldn't show this. Reloading the page may help.",
    noRun: "No messages yet",
    noRunLine: {
      code: "Code that the agent writes and runs appears here.",
      terminal: "Commands and their output appear here.",
      files: "Files that the agent saves appear here.",
      inspector: "Raw output, events and frames appear here.",
    },
  },

  // panes/: the code and the terminal of a run
  panes: {
    error: "Error:",
    gone: "Run not found",
    goneLine: "Its chat may have been deleted.",
    noCode: {
      live: { title: "No code executed yet", line: "Code that the agent runs appears here." },
      over: {
        title: "No code was executed",
        line: "Quoted code is in the answer.",
      },
    },
    noOutput: {
      live: {
        title: "No commands yet",
        line: "Commands and their output appear here.",
      },
      over: { title: "No commands were run", line: "The agent used no tools in this answer." },
    },
    files: "Code of this answer",
    step: (step: number) => `Step ${step}`,
    lines: (count: number) => (count === 1 ? "1 line" : `${count} lines`),
    copyOf: "quoted, not run",
    writing: "writing…",
    follow: "Follow latest",
    returned: "Returned",
    terminal: "Terminal",
    terminalHint: "Text version available",
    asText: "Show as text",
    output: "Tool output",
    cut: "Shortened; full output in the chat.",
    onlyEnd: "Showing the last part only. Copy gives you everything.",
    copyCode: "Copy the code",
    copyOutput: "Copy all output",
  },

  // inspector/: raw lines, events and frames of a run
  inspector,
  inspecting,
  sharing,
  viewing,

  // shell/: the chat list's filter, pins and search results; the page's language; embedding
  sidebar,
  // parts/: the activity line, tools by kind, the crash card
  activity,

  // shell/: chat list, settings, dialogs
  shell: {
    chats: "Chats",
    openChats: "Open chat list",
    closeChats: "Close chat list",
    skip: "Skip to the message box",
    newChat: "New chat",
    search: "Search chats",
    clearSearch: "Clear search",
    noResults: (query: string) => `No chats match “${query}”.`,
    noChats: "No chats yet.",
    listFailed: "Couldn't load chats.",
    running: "The agent is working",
    waiting: "Waiting for you",
    today: "Today",
    yesterday: "Yesterday",
    week: "Previous 7 days",
    chatMenu: (title: string) => `Options for “${title}”`,
    rename: "Rename",
    delete: "Delete",
    deleteTitle: "Delete this chat?",
    deleteLine: (title: string) =>
      `Deletes “${title}” and all files its agents saved. This can't be undone.`,
    renameTitle: "Rename this chat",
    permissionsTitle: "Allowed in this chat",
    permissionsLine: "The agent makes these calls without asking.",
    noPermissions: "Nothing. The agent asks before each call that needs approval.",
    permissionAny: (agent: string) => `${agent}, with any input`,
    permissionExact: (agent: string) => `${agent}, with this input only`,
    revoke: "Revoke",
    revokeOf: (tool: string) => `Revoke ${tool}`,
    title: "Title",
    save: "Save",
    cancel: "Cancel",
    close: "Close",
    agent: (name: string, model?: string) => `Agent: ${name}${model ? `, ${model}` : ""}`,
    agents: "Agent for the next message",
    agentsFailed: "Couldn't load agents.",
    agentBroken: (id: string) => `${id} can't be loaded`,
    settings: "Settings",
    signInTitle: "Sign in",
    key: {
      name: "Key",
      line: "Enter your access key. It stays in this tab until you close it or sign out.",
      refused: "Invalid key. It may have expired or been revoked.",
    },
    token: {
      name: "Token",
      line: "Sign in to this app and reload the page, or enter an access token. It stays in this tab until you close it or sign out.",
      refused: "This token isn't valid.",
    },
    signIn: "Sign in",
    signOut: "Sign out",
    theme: "Theme",
    themes: { light: "Light", dark: "Dark", system: "System" },
    protocol: "Protocol",
    protocols: {
      "ai-sdk": { name: "AI SDK", line: "UI message stream over HTTP" },
      "ag-ui": { name: "AG-UI", line: "CopilotKit's events over HTTP" },
      "socket-io": { name: "Socket.IO", line: "Events over one WebSocket" },
    },
    keepOpen: "Keep steps expanded",
    sandbox: {
      isolated: (name: string) => `Agents run in ${name} sandboxes.`,
      process: "Agents run as processes of the server's user, not isolated.",
      other: (name: string) => `Agents run in ${name}, not isolated.`,
      workers: "Workers run the agents, each in its own sandbox.",
    },
    help: "Keyboard shortcuts",
    shortcuts: {
      send: "Send",
      line: "New line",
      stop: "Stop the agent",
      editLast: "Edit the last message (when the box is empty)",
      search: "Search chats",
      newChat: "New chat",
      panel: "Open or close the side panel",
      help: "Show this list",
    },
    offline: "You're offline. The agent keeps working; this page catches up when you're back.",
    offlineShort: "You're offline.",
    reconnecting: "Reconnecting…",
    pending: "Waiting for the server…",
    unreachable: "The server can't be reached.",
    unsent: {
      message: "Your message is not sent yet.",
      answer: "Your answer is not sent yet.",
    },
    notStopped: "The agent will be stopped when the server answers.",
    againIn: (seconds?: number) =>
      seconds === undefined ? "Trying again…" : `Trying again in ${seconds} s`,
  },
};

/** What every language has: a text that is missing in one is a compile error. */
export type Strings = typeof english;

/** All text of the page: in English, until `loadStrings` has replaced it by that of another language. */
export const strings: Strings = { ...english };

/** Loads the texts of the page's language; main.ts waits for it before it loads what reads them. */
export async function loadStrings(): Promise<void> {
  Object.assign(strings, await catalogue(english));
}
