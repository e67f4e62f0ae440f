/** Messages as Markdown for export, or as plain text for the clipboard. */
import type { UIMessage } from "ai";
import type { Answered, Block, FileItem, Item, SourceItem, ToolBlock } from "@/parts/blocks";
import { outcomeOf } from "@/parts/decided";
import { duration } from "@/parts/durations";
import { usageLine, usageOfAnswer } from "@/parts/usage";
import { view } from "@/parts/view";
import { strings } from "@/strings";

const words = strings.parts;

/** Only the text of the answer. */
export function plainText(message: UIMessage): string {
  const texts = view(message, false).flatMap((block) =>
    block.kind === "text" ? [block.text] : [],
  );
  return texts.map((text) => text.trim()).join("\n\n");
}

/** All of a message; reasoning is quoted, calls and data are in fences. */
export function messageMarkdown(message: UIMessage): string {
  const usage = usageOfAnswer(message);
  const facts = [usage.isSimulated && strings.models.simulated, usageLine(usage)].filter(Boolean);
  const line = facts.join(strings.activity.between);
  return join([...written(view(message, false)), line && `*${line}*`]);
}

/** A whole conversation; `note` is what is written below a message. */
export function chatMarkdown(
  title: string,
  messages: UIMessage[],
  note: (message: UIMessage) => string | undefined = () => undefined,
): string {
  const parts = messages.map((message) =>
    join([
      `## ${words.speakers[message.role] ?? message.role}`,
      messageMarkdown(message),
      note(message),
    ]),
  );
  return `${join([`# ${oneLine(title)}`, ...parts])}\n`;
}

const join = (parts: (string | undefined)[]) => parts.filter(Boolean).join("\n\n");
const oneLine = (text: string) => text.replace(/\s+/g, " ").trim();
const written = (blocks: Block[]): string[] => blocks.map((block) => write(block));

type Writers = { [K in Block["kind"]]: (block: Extract<Block, { kind: K }>) => string };

function write<K extends Block["kind"]>(block: Extract<Block, { kind: K }>): string {
  return (WRITERS[block.kind] as (block: Extract<Block, { kind: K }>) => string)(block);
}

const WRITERS: Writers = {
  text: ({ text }) => text.trim(),
  activity: ({ blocks }) => join(written(blocks)),
  reasoning: ({ variant, text, durationMs }) => {
    const [plain, within] =
      variant === "processing"
        ? [words.processed, words.processedIn]
        : [words.thought, words.thoughtFor];
    const label = durationMs === undefined ? plain : within(duration(durationMs));
    return quoted(`**${label}**\n\n${variant === "processing" ? fenced(text) : text.trim()}`);
  },
  tool: call,
  tools: ({ tools }) => join(tools.map(call)),
  todos: ({ items }) => list(items),
  steps: ({ items }) => list(items),
  subagent: ({ trail, task, more, state, blocks, summary }) =>
    quoted(
      join([
        `**${trail.join(" › ")}** (${words.callStates[state]})${task ? `: ${oneLine(task)}` : ""}`,
        more.map(([name, value]) => `- ${name}: ${oneLine(value)}`).join("\n"),
        ...written(blocks),
        summary,
      ]),
    ),
  request: ({ about, prompt, options, answer }) =>
    join([
      `**${words.question}**${prompt ? `: ${prompt}` : ""}`,
      prompt || options === undefined || about === "approval" ? undefined : data(options),
      answer && outcome(answer),
    ]),
  files: ({ files }) => files.map(file).join("\n"),
  chart: (block) => data(block.data),
  data: ({ items }) => join(items.map((item) => `${item.name}\n\n${data(item.value)}`)),
  sources: ({ cited, found }) =>
    join([
      `**${words.sources}**`,
      cited.map((item, place) => `${place + 1}. ${source(item)}`).join("\n"),
      found.map((item) => `- ${source(item)}`).join("\n"),
    ]),
  error: ({ text }) => quoted(`**${words.error}**: ${text}`),
  ending: ({ reason }) => (words.endings[reason] ? `*${words.endings[reason]}*` : ""),
};

function call({ name, state, input, output, error, decision }: ToolBlock): string {
  return join([
    `**${oneLine(name)}** (${words.callStates[state]})`,
    input === undefined ? undefined : data(input),
    error === undefined ? undefined : fenced(error),
    output === undefined ? undefined : data(output),
    decision?.answer && outcome(decision.answer),
  ]);
}

function outcome(answer: Answered): string {
  const isEdited = answer.decision === "edited";
  return join([
    outcomeOf(answer),
    isEdited ? data(answer.value) : undefined,
    isEdited || answer.value === undefined
      ? undefined
      : `${words.answeredWith}: ${value(answer.value)}`,
  ]);
}

const MARKS: Partial<Record<Item["state"], string>> = { done: "x" };
const list = (items: Item[]) =>
  items.map(({ text, state }) => `- [${MARKS[state] ?? " "}] ${oneLine(text)}`).join("\n");

function source({ title, url, place }: SourceItem): string {
  const name = oneLine(title).replace(/[[\]]/g, "\\$&");
  return (url ? `[${name}](<${url}>)` : name) + (place ? `, ${place}` : "");
}

/** Inline bytes are left out. */
const file = ({ name, mediaType, url }: FileItem) =>
  url && /^https?:/i.test(url) ? `- [${oneLine(name)}](<${url}>)` : `- ${name} (${mediaType})`;

const value = (content: unknown) =>
  typeof content === "string" ? content : JSON.stringify(content);
const data = (content: unknown) =>
  typeof content === "string" ? fenced(content) : fenced(JSON.stringify(content, null, 2), "json");
const quoted = (text: string) =>
  text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");

/** In a fence longer than any in the text. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
