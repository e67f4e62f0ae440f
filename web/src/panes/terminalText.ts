import { ESC, EscapeFilter } from "@/panes/escapes";
import { plainText } from "@/panes/plainText";
import type { PaneMessage } from "@/panes/wire";
import { strings } from "@/strings";

const sgr = (codes: string) => `${ESC}[${codes}m`;
const PROMPT = sgr("34");
const CALL = sgr("35");
const STRONG = sgr("1");
const FAILED = sgr("31");
const QUIET = sgr("90");
const PLAIN = sgr("0");
/** The prompt of a command. */
const SHELL = "$ ";

interface Written {
  /** Our label before it. */
  head: string;
  body: string;
  /** Our note after it. */
  tail?: string;
}

const NOTHING: Written = { head: "", body: "" };

/** The styles of terminal messages; the first match applies. */
const WRITERS: [(message: PaneMessage) => boolean, (message: PaneMessage) => Written][] = [
  [({ content }) => content === "", () => NOTHING],
  [isCall, call],
  [
    ({ title }) => title === "Error",
    ({ content }) => ({
      head: `${FAILED}${STRONG}✗ ${strings.panes.error}${sgr("22")} `,
      body: content,
    }),
  ],
  [({ event }) => event !== undefined, ({ content }) => ({ head: "", body: content })],
  [
    ({ title, reason }) => title !== undefined && reason === undefined,
    ({ title, content }) => ({ head: `${QUIET}${plain(title)}: `, body: content }),
  ],
  [() => true, ({ content }) => ({ head: QUIET, body: content })],
];

function isCall({ event }: PaneMessage): boolean {
  return event === "tool_call" || event === "tool_invocation";
}

/** The server adds the prompt to commands; other calls get their tool's name. */
function call({ content, toolName }: PaneMessage): Written {
  if (content.startsWith(SHELL)) {
    return { head: `${PROMPT}$${PLAIN} ${STRONG}`, body: content.slice(SHELL.length) };
  }
  return { head: `${named(toolName)} `, body: content };
}

/** Output of a call that is not in the terminal, since it is code, gets the tool's name above it. */
function written(message: PaneMessage, calls: Calls): Written {
  const { head, body } = WRITERS.find(([fits]) => fits(message))?.[1](message) ?? NOTHING;
  if (!body || message.event !== "tool_output") return { head, body };
  const call = calls.get(message.toolId);
  if (!call) return { head: `${named(message.toolName)}\n${head}`, body };
  const isPrinted = call.content.startsWith(SHELL);
  return isPrinted || body.length <= MOST
    ? { head, body }
    : { head, body: body.slice(0, MOST), tail };
}

type Calls = ReadonlyMap<string | undefined, PaneMessage>;

/** Maximum characters of a tool result that is not program output. The chat shows all of it. */
const MOST = 400;
const tail = `\n${QUIET}… ${strings.panes.cut}`;

const named = (tool: string | undefined) => `${CALL}»${PLAIN} ${STRONG}${plain(tool)}${PLAIN}`;

/** Text without control characters and line breaks. */
const plain = (words = "") => words.replace(/[\p{Cc}\p{Cf}]/gu, "");

interface Entry extends Written {
  filter: EscapeFilter;
  text: string;
}

/**
 * The terminal's content as one text, filtered by `EscapeFilter`. It only grows at its end, unless an
 * update changes an earlier message.
 */
export class TerminalText {
  #entries = new Map<string, Entry>();

  of(messages: PaneMessage[]): string {
    const calls = new Map(messages.filter(isCall).map((each) => [each.toolId, each] as const));
    const entries = messages
      .map((message) => this.#entry(message, calls))
      .filter(({ text }) => text);
    return entries.map((entry, at) => (entries[at + 1] ? ended(entry) : shown(entry))).join("");
  }

  /** Only the new part of a message passes through its filter. */
  #entry(message: PaneMessage, calls: Calls): Entry {
    const { head, body, tail } = written(message, calls);
    const known = this.#entries.get(message.id);
    const goesOn = known && known.head === head && body.startsWith(known.body);
    const filter = goesOn ? known.filter : new EscapeFilter(isInLine(head));
    const entry: Entry = goesOn ? known : { head, body: "", filter, text: head };
    entry.text += entry.filter.feed(body.slice(entry.body.length));
    entry.body = body;
    entry.tail = tail;
    this.#entries.set(message.id, entry);
    return entry;
  }
}

/** Whether there is visible text before the next message. */
const isInLine = (head: string) => /[^\n]$/.test(plainText(head));

/** The next message starts on a new line. */
const ended = (entry: Entry) => {
  const text = shown(entry) + (entry.tail ? PLAIN : entry.filter.close());
  return /\n$/.test(shown(entry)) ? text : `${text}\r\n`;
};

/** Our note is below all of its output. */
const shown = ({ text, filter, tail }: Entry) => (tail ? text + filter.close() + tail : text);
