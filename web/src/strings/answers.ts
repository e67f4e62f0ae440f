import { locale } from "@/language";

const tokens = (count: number) =>
  count === 1 ? "1 token" : `${count.toLocaleString(locale)} tokens`;

/** Who answered, versions of messages, feedback, and the tokens of a chat. */
export const answers = {
  versions: "Versions of this message",
  versionOf: (number: number, count: number) => `Version ${number} of ${count}`,
  counter: (number: number, count: number) => `${number}/${count}`,
  previous: "Previous version",
  next: "Next version",
  shown: (number: number, count: number) => `Showing version ${number} of ${count}.`,
  busy: "The agent is working or waits for you. Stop it or let it finish to see other versions.",

  /** The files that an answer made; `more` are not named. */
  made: (names: string[], more: number) =>
    more > 0
      ? `Made ${names.join(", ")} and ${more.toLocaleString(locale)} more`
      : `Made ${names.join(", ")}`,
  answeredAt: (when: string) => `Answered ${when}`,

  usage: "Tokens of this answer",
  input: "Input tokens",
  cacheRead: "read from cache",
  cacheWrite: "written to cache",
  output: "Output tokens",
  reasoning: "for reasoning",
  cost: "Cost",
  noCost: "none, the model is simulated",
  duration: "Duration",
  turns: "Model calls",
  model: "Model",
  context: "Context",
  contextOf: (used: number, window: number) =>
    `${used.toLocaleString(locale)} of ${tokens(window)}`,
  contextFull: (percent: number) => `${percent}% full`,
  tokens,

  chatUsage: "Usage of this chat",
  chatUsageLine: "All answers, with all their versions.",
  chatUsageButton: (total: string) => `Usage of this chat: ${total}`,
  count: "Answers",
  lastContext: "Context of the last answer",
  usageMenu: "Usage",
  nothingKnown: "No agent of this chat has reported its tokens.",

  good: "Good answer",
  bad: "Bad answer",
  comment: "Add a comment",
  editComment: "Edit your comment",
  commentField: "Comment on this answer (optional)",
  commentPlaceholder: { up: "What was good?", down: "What was wrong?" },
  saveComment: "Save",
  cancelComment: "Cancel",
  feedbackFailed: "Couldn't save your feedback. Try again.",
  feedback: { up: "👍 Good answer", down: "👎 Bad answer" },
};
