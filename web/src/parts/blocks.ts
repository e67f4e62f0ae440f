/** What an answer is made of on the page. All are plain data: `view` makes them, `Parts` shows them. */
import type { Source } from "@/content/citations";
import type { Allowed } from "@/parts/allowed";

interface Made {
  /** The ids of the parts in it: who has a log of them finds it by these. */
  made?: string[];
}

export interface TextBlock extends Made {
  kind: "text";
  key: string;
  text: string;
  tone: "answer" | "commentary" | "refusal";
  active: boolean;
  citations: Source[];
}

export type Variant = "processing" | "thinking";

export interface ReasoningBlock extends Made {
  kind: "reasoning";
  key: string;
  variant: Variant;
  text: string;
  /** It is being written. */
  active: boolean;
  /** Something came after it. */
  newer: boolean;
  durationMs?: number;
}

export type CallState =
  | "preparing"
  | "running"
  | "asking"
  | "answered"
  | "done"
  | "failed"
  | "denied"
  | "stopped";

export interface Verdict {
  id: string;
  /** What the person is asked, where somebody put it into words. */
  asked?: string;
  allowed: readonly Allowed[];
  answer?: Answered;
}

/** The answer to a request. */
export interface Answered {
  decision: string;
  value?: unknown;
  reason?: string;
}

export interface ToolBlock extends Made {
  kind: "tool";
  key: string;
  callId: string;
  name: string;
  state: CallState;
  /** Its input as far as it is there. */
  input: unknown;
  output?: unknown;
  error?: string;
  decision?: Verdict;
}

export interface ToolsBlock extends Made {
  kind: "tools";
  key: string;
  tools: ToolBlock[];
}

export type ItemState = "pending" | "running" | "done" | "failed" | "stopped";

export interface Item {
  text: string;
  state: ItemState;
}

export interface TodosBlock extends Made {
  kind: "todos";
  key: string;
  items: Item[];
}

export interface StepsBlock extends Made {
  kind: "steps";
  key: string;
  items: Item[];
}

export interface SubagentBlock extends Made {
  kind: "subagent";
  key: string;
  /** The names of those who sent it, where they are not shown around it, and its own. */
  trail: string[];
  task?: string;
  /** What else it was sent with. */
  more: [name: string, value: string][];
  background: boolean;
  state: CallState;
  summary?: string;
  blocks: Block[];
}

export interface RequestBlock extends Made {
  kind: "request";
  key: string;
  id: string;
  about: string;
  prompt?: string;
  schema?: unknown;
  options?: unknown;
  /** What a person may decide, where it is an approval. */
  allowed: readonly Allowed[];
  /** Somebody may still answer. */
  open: boolean;
  answer?: Answered;
}

export interface FileItem {
  name: string;
  mediaType: string;
  url?: string;
  size?: number;
}

export interface FilesBlock extends Made {
  kind: "files";
  key: string;
  files: FileItem[];
}

export interface ChartBlock extends Made {
  kind: "chart";
  key: string;
  data: unknown;
}

/** What an application said in words of its own. */
export interface DataBlock extends Made {
  kind: "data";
  key: string;
  items: { name: string; value: unknown }[];
}

export interface SourceItem {
  /** Of one that the text points to. */
  id?: string;
  title: string;
  url?: string;
  /** Where in the document. */
  place?: string;
  quotes: string[];
}

export interface SourcesBlock extends Made {
  kind: "sources";
  key: string;
  /** What the text points to: the first has number 1. */
  cited: SourceItem[];
  /** What was only found. */
  found: SourceItem[];
}

interface ErrorBlockData extends Made {
  kind: "error";
  key: string;
  text: string;
}

export interface EndingBlock extends Made {
  kind: "ending";
  key: string;
  reason: string;
}

export type Block =
  | TextBlock
  | ReasoningBlock
  | ToolBlock
  | ToolsBlock
  | TodosBlock
  | StepsBlock
  | SubagentBlock
  | RequestBlock
  | FilesBlock
  | ChartBlock
  | DataBlock
  | SourcesBlock
  | ErrorBlockData
  | EndingBlock;
