import { locale } from "@/language";

const date = (at: number) =>
  new Date(at).toLocaleDateString(locale, { year: "numeric", month: "short", day: "numeric" });

/** Links to chats, and the page that they open. */
export const sharing = {
  share: "Share…",
  title: "Share this chat",
  line: "Anyone with the link can read it, without signing in. They can't send anything.",
  what: "What it shows",
  shows: {
    answer: { name: "Answers only", line: "Messages and answers, with their sources." },
    tools: {
      name: "Answers and tools",
      line: "Also tool calls with their results, plans, subagents and questions.",
    },
    everything: {
      name: "Everything",
      line: "Also thoughts, token usage, attached files, the timeline and replay.",
    },
  },
  which: "Which part",
  parts: { chat: "Whole chat", run: "Last answer" },
  expires: "Expires",
  days: (days: number) => (days === 1 ? "in 1 day" : `in ${days} days`),
  never: "never",
  create: "Create link",
  creating: "Creating…",
  created: "Copy the link now: it won't be shown again.",
  address: "Link",
  copy: "Copy link",
  links: "Links to this chat",
  none: "This chat isn't shared.",
  revoke: "Revoke",
  revokeOf: (name: string) => `Revoke the link "${name}"`,
  wholeChat: "Whole chat",
  oneAnswer: "One answer",
  until: (at: number) => `until ${date(at)}`,
  forever: "no expiry",
  expired: "expired",
  made: (at: number) => `created ${date(at)}`,
  facts: (facts: string[]) => facts.join(" · "),

  // The page that a link opens
  badge: "Shared",
  readOnly: "Shared chat, read-only",
  readOnlyRun: "Shared answer, read-only",
  by: (agent: string) => `with ${agent}`,
  working: "The agent is working. This page updates by itself.",
  waiting: "The agent is waiting for an answer from the owner of this chat.",
  untitled: "Shared chat",
  goneTitle: "This link doesn't work",
  goneLine:
    "It has expired or was revoked, or the chat was deleted. Ask whoever sent it for a new one.",
  fileNotShared: "Not shared",
  home: "Go to Mobox",
};
