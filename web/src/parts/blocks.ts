/** The blocks of an answer, as plain data: `view` makes them, `Parts` shows them. */
import type { Source } from "@/content/citations";
import type { Allowed } from "@/parts/allowed";

interface Made {
  /** The ids of its parts, by which the inspector finds it. */
  made?: string[];
}

export interface TextBlock extends Made {
  kind: "text";
  key: string;
  text: string;
  tone: "answer" | "commentary" | "refusal";
  active: boolean;
  citations: Source[];
  /** How long the agent worked before it, since the text before. */
  workedMs?: number;
}

export type Variant = "processing" | "thinking";

export interface ReasoningBlock extends Made {
  kind: "reasoning";
  key: string;
  variant: Variant;
  text: string;
  /** Streaming now. */
  active: boolean;
  /** Another block follows. */
  newer: boolean;
  durationMs?: number;
  /** The run failed or was stopped: nothing here says that all went well. */
  broken?: boolean;
}

export type CallState =
  | "preparing"
  | "running"
  | "waiting"
  | "answered"
  | "done"
  | "failed"
  | "denied"
  | "stopped";

export interface Verdict {
  id: string;
  /** The prompt of the request, if it has one. */
  question?: string;
  allowed: readonly Allowed[];
  answer?: Answered;
}

/** The answer to a request. */
export interface Answered {
  decision: string;
  value?: unknown;
  reason?: string;
  /** Nobody was asked: the call was allowed for this chat before. */
  automatic?: boolean;
}

export interface ToolBlock extends Made {
  kind: "tool";
  key: string;
  callId: string;
  name: string;
  /** The kind of tool that the server names, if any. */
  declared?: string;
  state: CallState;
  /** The input received so far. */
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
  /** The run works on it: it stays in sight. */
  pinned?: boolean;
}

export interface StepsBlock extends Made {
  kind: "steps";
  key: string;
  items: Item[];
}

export interface SubagentBlock extends Made {
  kind: "subagent";
  key: string;
  /** Its name, after those of its parents that are not shown around it. */
  trail: string[];
  task?: string;
  /** Other input of its call. */
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
  /** The allowed decisions of an approval. */
  allowed: readonly Allowed[];
  /** It can still be answered. */
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

/** An application's own data. */
export interface DataBlock extends Made {
  kind: "data";
  key: string;
  items: { name: string; value: unknown }[];
}

export interface SourceItem {
  /** The number of a cited source. */
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
  /** Cited sources: the first has number 1. */
  cited: SourceItem[];
  /** Sources that were found and not cited. */
  found: SourceItem[];
}

interface ErrorBlockData extends Made {
  kind: "error";
  key: string;
  text: string;
  code?: string;
}

export interface EndingBlock extends Made {
  kind: "ending";
  key: string;
  reason: string;
}

/** The work between two texts of the answer; see `work.ts`. */
export interface ActivityBlock extends Made {
  kind: "activity";
  key: string;
  blocks: Block[];
  /** The run is at work here. */
  active: boolean;
  workedMs?: number;
}

export type Block =
  | TextBlock
  | ActivityBlock
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
