import type { UIMessage } from "ai";
import { fetchWithKey } from "@/key";
import { linkSecret } from "@/link";

/**
 * The server's JSON routes, typed. URLs are relative to the page's `<base>`, so that the page works below
 * any path. An error response is thrown as `Refused` with the server's message; an unreachable server
 * throws whatever `fetch` throws.
 */

/** The server's profile for this page: requests are data, and all tools are dynamic parts. */
export const PROFILE = "page";

export interface ChatRow {
  id: string;
  title: string;
  createdAt: number;
  updatedAt: number;
  /** When it was pinned. */
  pinnedAt?: number | null;
}
/** The id and title of a chat. */
export type NamedChat = Pick<ChatRow, "id" | "title">;
export interface ListedChat extends ChatRow {
  /** The state of the active or waiting run. */
  status: "running" | "waiting" | null;
  /** The last run ended with an error. */
  failed?: boolean;
  /** The id of the agent of its last run. */
  agent?: string | null;
  /** Of a search: messages that contain its text. */
  hits?: Hit[];
}
/** A message that a search found: `match`, and the text around it. */
export interface Hit {
  messageId: string;
  role: "user" | "assistant";
  before: string;
  match: string;
  after: string;
}
interface ActiveRun {
  id: string;
  status: "running" | "waiting" | "done";
  agent: string;
}
interface MessagePage {
  messages: UIMessage[];
  before?: string | null;
  activeRun: ActiveRun | null;
}
export interface ChatView extends ChatRow, MessagePage {
  agent?: string | null;
}
export interface Agent {
  id: string;
  name: string;
  description: string;
  /** An emoji. */
  icon?: string;
  /** Messages to begin a chat with. */
  starters?: string[];
  /** Where its model's responses come from; `null` if the server does not know. */
  model?: "provider" | "simulated" | "recorded" | null;
  /** Whether a message starts it at once, after an installation, after one that has failed before, or not at all. */
  availability?: "ready" | "installs" | "failed" | "unavailable";
  /** Why it is not ready. */
  notice?: string;
}
/** An agent that the server could not load, by the name of its folder. */
export interface AgentProblem {
  id: string;
  message: string;
}
interface AgentList {
  agents: Agent[];
  /** The agent of chats that name none. */
  default?: string | null;
  problems?: AgentProblem[];
}
/** Where agents run. */
export interface SandboxFacts {
  name: string;
  /** Whether an agent can reach neither the server nor other agents. */
  isolates: boolean;
  /** Why there is none that isolates; not for everybody. */
  reason?: string | null;
}
/** In bytes. */
export interface UploadLimits {
  maxFile: number;
  maxFilesPerOwner: number;
}
export interface ServerFacts {
  uploads?: UploadLimits;
  /** `null` where workers execute the agents. */
  sandbox: SandboxFacts | null;
}
interface ChatPage {
  chats: ListedChat[];
  before?: string | null;
  /** On the first page: all pinned chats. */
  pinned?: ListedChat[];
}
export type Decision = "approved" | "denied" | "edited" | "answered" | "cancelled";
/** What an approval is for: this call, all calls of the tool in this chat, those with the same input. */
export type AnswerScope = "once" | "chat" | "chat_input";
export interface Answer {
  requestId: string;
  decision: Decision;
  value?: unknown;
  reason?: string;
  scope?: AnswerScope;
}
/** A call that the agent need not ask about in a chat. Without `input`, with any input. */
export interface Permission {
  id: string;
  agent: string;
  tool: string;
  input?: unknown;
  createdAt: number;
}

/** An error response of the server. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "Refused";
  }

  /** The error in a response body: the server's, or a proxy's text. */
  static from(status: number, body: string): Refused {
    try {
      const { code, message } = JSON.parse(body).error;
      if (typeof code === "string" && typeof message === "string") {
        return new Refused(status, code, message);
      }
    } catch {
      // not JSON: a proxy's response
    }
    return new Refused(status, "unknown", `HTTP ${status}`);
  }
}

type Query = Record<string, string | number | undefined | null>;

/** The absolute URL of a path below the page's base. */
export function address(path: string, query: Query = {}): string {
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") {
      url.searchParams.set(name, String(value));
    }
  }
  return url.href;
}

const word = encodeURIComponent;

/** Where a chat, its runs and their formats are read: those of a link have routes of their own. */
const isShared = () => linkSecret() !== undefined;
const chatPath = (id: string) => (isShared() ? "api/shared" : `api/chats/${word(id)}`);
const formatsPath = () => (isShared() ? "api/shared/formats" : "api/formats");
export const streamPath = (id: string) =>
  isShared() ? "api/shared/stream" : `api/chat/${word(id)}/stream`;
export const runPath = (runId: string) =>
  isShared() ? `api/shared/runs/${word(runId)}` : `api/runs/${word(runId)}`;

async function ask(method: string, url: string, body?: unknown): Promise<Response> {
  const response = await fetchWithKey(url, {
    method,
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  if (!response.ok) throw Refused.from(response.status, await response.text());
  return response;
}

async function read<T>(url: string): Promise<T> {
  return (await ask("GET", url)).json();
}

interface ChatsQuery {
  query?: string;
  agent?: string;
  before?: string | null;
  limit?: number;
}

export const getChats = (query: ChatsQuery) =>
  read<ChatPage>(address("api/chats", { ...query } as Query));

export const getChat = (id: string, limit: number) =>
  read<ChatView>(address(chatPath(id), { profile: PROFILE, limit }));

export const getMessages = (id: string, before: string | null | undefined, limit: number) =>
  read<MessagePage>(address(`${chatPath(id)}/messages`, { profile: PROFILE, before, limit }));

export const getServer = () => read<ServerFacts>(address("api/server"));

export const getAgents = () => read<AgentList>(address("api/agents"));

export const renameChat = async (id: string, title: string): Promise<ChatRow> =>
  (await ask("PATCH", address(`api/chats/${word(id)}`), { title })).json();

export const pinChat = async (id: string, pinned: boolean): Promise<ChatRow> =>
  (await ask("PATCH", address(`api/chats/${word(id)}`), { pinned })).json();

export const deleteChat = async (id: string): Promise<void> => {
  await ask("DELETE", address(`api/chats/${word(id)}`));
};

export const getPermissions = async (id: string) =>
  (await read<{ permissions: Permission[] }>(address(`api/chats/${word(id)}/permissions`)))
    .permissions;

export const revokePermission = async (id: string, permission: string): Promise<void> => {
  await ask("DELETE", address(`api/chats/${word(id)}/permissions/${word(permission)}`));
};

export const stopRun = async (id: string, runId?: string): Promise<{ runId: string | null }> =>
  (await ask("POST", address(`api/chat/${word(id)}/stop`), runId ? { runId } : {})).json();

/** An answer that comes too late is no error: the stream shows the one that counted. */
export const sendAnswer = async (id: string, answer: Answer, runId?: string): Promise<void> => {
  await ask("POST", address(`api/chat/${word(id)}/answer`), { ...answer, runId });
};

/** What the readers of a link see. */
export type Shows = "answer" | "tools" | "everything";

/** A link to a chat, or to one of its runs. */
export interface ShareLink {
  id: string;
  shows: Shows;
  runId: string | null;
  createdAt: number;
  expiresAt: number | null;
}

export interface NewLink {
  shows: Shows;
  /** Only this run. */
  runId?: string;
  /** Days until it expires; `null`: never. */
  days: number | null;
}

/** A chat as the readers of its link see it. */
export interface SharedView extends ChatView {
  shows: Shows;
  runId: string | null;
  expiresAt: number | null;
}

export interface SharedState {
  title: string;
  updatedAt: number;
  activeRun: ActiveRun | null;
}

export const getLinks = async (id: string) =>
  (await read<{ links: ShareLink[] }>(address(`api/chats/${word(id)}/links`))).links;

/** The link, and its secret, which is shown once. */
export const createLink = async (
  id: string,
  link: NewLink,
): Promise<ShareLink & { secret: string }> =>
  (await ask("POST", address(`api/chats/${word(id)}/links`), link)).json();

export const revokeLink = async (id: string, link: string): Promise<void> => {
  await ask("DELETE", address(`api/chats/${word(id)}/links/${word(link)}`));
};

export const getSharedState = () => read<SharedState>(address("api/shared/state"));

/** Reads a recording: the response streams how it is read, and its rows. */
export async function readRecording(
  body: Blob,
  query: { framework: string; format: string },
  signal: AbortSignal,
): Promise<Response> {
  const headers = { "content-type": "application/octet-stream" };
  const init = { method: "POST", headers, body, signal };
  const response = await fetchWithKey(address("api/recordings", query), init);
  if (!response.ok) throw Refused.from(response.status, await response.text());
  return response;
}

/** Stores a recording as a chat; returns its id. */
export async function keepRecording(
  body: Blob,
  query: { framework: string; name: string },
): Promise<string> {
  const init = { method: "POST", headers: { "content-type": "application/octet-stream" }, body };
  const response = await fetchWithKey(address("api/recordings/chats", query), init);
  if (!response.ok) throw Refused.from(response.status, await response.text());
  return (await response.json()).chatId;
}

/** The file that `mobox view` was started with. */
export async function getViewedFile(): Promise<File> {
  const response = await ask("GET", address("api/recording"));
  const name = decodeURIComponent(response.headers.get("x-mobox-file") ?? "");
  return new File([await response.blob()], name);
}

/** A format for runs, and its profiles, the default first. */
export interface Format {
  name: string;
  profiles: string[];
}
/** The stderr of one attempt. */
export interface AttemptStderr {
  leg: number;
  text: string;
}

export type RunOutcome = "running" | "waiting" | "done" | "failed" | "stopped";
export type RunOrder = "newest" | "slowest" | "dearest";
/** A run in the list of all runs. */
export interface RunRow {
  id: string;
  chatId: string;
  /** Of its chat. */
  title: string;
  agent: string;
  outcome: RunOutcome;
  startedAt: number;
  endedAt: number | null;
  events: number;
  /** A later answer has replaced it. */
  superseded: boolean;
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
}
export interface RunsQuery {
  order: RunOrder;
  outcome?: RunOutcome;
  agent?: string;
  before?: string;
}

export const getRuns = (query: RunsQuery) =>
  read<{ runs: RunRow[]; before?: string | null }>(
    address("api/runs", { ...query, limit: 50 } as Query),
  );

/** A recorded call of a model, without its request and response. */
export interface ModelCall {
  /** From 1 on, in the order in which they ended. */
  n: number;
  provider: string;
  method: string;
  path: string;
  model: string;
  status: number;
  /** In milliseconds; 0 where it is not known. */
  startedAt: number;
  durationMs: number;
  /** Of the bodies, in bytes. */
  requestSize: number;
  responseSize: number;
  /** The provider broke off. */
  cut: boolean;
}
export interface ModelCallList {
  /** Whether the server records the calls of models. */
  recording: boolean;
  calls: ModelCall[];
  /** More calls were made than are listed. */
  more: boolean;
}
/** The bodies of a call, as text. */
export interface ModelCallBodies {
  headers: Record<string, string>;
  request: string;
  response: string;
  /** A body was too long, and is cut off. */
  shortened: boolean;
}

export const getModelCalls = (runId: string) =>
  read<ModelCallList>(address(`api/runs/${word(runId)}/models`));

export const getModelCall = (runId: string, n: number) =>
  read<ModelCallBodies>(address(`api/runs/${word(runId)}/models/${n}`));

export const getFormats = async () =>
  (await read<{ formats: Format[] }>(address(formatsPath()))).formats;

export const getStderr = async (runId: string) =>
  (await read<{ legs: AttemptStderr[] }>(address(`api/runs/${word(runId)}/stderr`))).legs;

/** The frames of a run so far in one format, as SSE. */
export const readRun = (runId: string, format: string) =>
  ask("GET", address(`${runPath(runId)}/events`, { format, live: "off" }));

/** One of several messages at the same place. */
interface Version {
  /** The newest answer after it: choosing that shows this version. */
  runId: string;
  createdAt: number;
}
/** A message that has other versions. */
export interface Fork {
  messageId: string;
  role: "user" | "assistant";
  /** The index of the version that is shown. */
  chosen: number;
  versions: Version[];
}
/** `null`: not known. Input includes the cache, output the reasoning. */
export interface TokenCounts {
  inputTokens: number | null;
  outputTokens: number | null;
  cachedInputTokens: number | null;
  cacheWriteTokens: number | null;
  reasoningTokens: number | null;
  costUsd: number | null;
}
/** Who answered, when, and with how many tokens; the message has the same id. */
export interface RunFacts {
  id: string;
  agent: string;
  startedAt: number;
  endedAt: number | null;
  /** It is in the branch that is shown. */
  isChosen: boolean;
  model: string | null;
  simulated: boolean;
  usage: TokenCounts | null;
  /** The tokens of the last call of this model. */
  contextTokens: number | null;
  contextWindow: number | null;
}
export interface RunList {
  runs: RunFacts[];
  /** Of all branches. */
  totals: TokenCounts;
}
export type Opinion = "up" | "down";
/** What the person thinks of an answer. */
export interface Feedback {
  runId: string;
  value: Opinion;
  comment: string;
}

export const getForks = async (id: string) =>
  (await read<{ forks: Fork[] }>(address(`api/chats/${word(id)}/branches`))).forks;

/** Shows the branch with this answer; returns its forks. */
export const chooseBranch = async (id: string, runId: string): Promise<Fork[]> =>
  (await (await ask("POST", address(`api/chats/${word(id)}/branch`), { runId })).json()).forks;

export const getRunsOf = (id: string) => read<RunList>(address(`api/chats/${word(id)}/runs`));

export const getFeedback = async (id: string) =>
  (await read<{ feedback: Feedback[] }>(address(`api/chats/${word(id)}/feedback`))).feedback;

export const giveFeedback = async (id: string, given: Feedback): Promise<Feedback> =>
  (await ask("POST", address(`api/chats/${word(id)}/feedback`), given)).json();

export const takeBackFeedback = async (id: string, runId: string): Promise<void> => {
  await ask("DELETE", address(`api/chats/${word(id)}/feedback/${word(runId)}`));
};
/** A file that an agent made in a chat. */
export interface MadeFile {
  path: string;
  size: number;
  modifiedAt: number;
  mediaType: string;
}
export interface MadeFiles {
  /** The newest first. */
  files: MadeFile[];
  /** Whether these are all. */
  complete: boolean;
  /** False where agents run on other machines. */
  available: boolean;
}

export const getMadeFiles = (id: string) => read<MadeFiles>(address(`api/chats/${word(id)}/files`));

/** All messages of a chat, for an export. */
export async function allMessages(id: string): Promise<UIMessage[]> {
  const pages: UIMessage[][] = [];
  let before: string | null | undefined;
  do {
    const page = await getMessages(id, before, 200);
    pages.unshift(page.messages);
    before = page.before;
  } while (before);
  return pages.flat();
}
