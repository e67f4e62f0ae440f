import type { UIMessage } from "ai";
import { fetchWithKey } from "@/key";

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
}
/** The id and title of a chat. */
export type NamedChat = Pick<ChatRow, "id" | "title">;
export interface ListedChat extends ChatRow {
  /** The state of the active or waiting run. */
  status: "running" | "waiting" | null;
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
  /** Where its model's responses come from; `null` if the server does not know. */
  model?: "provider" | "simulated" | "recorded" | null;
}
/** An agent that the server could not load, by the name of its folder. */
export interface AgentProblem {
  id: string;
  message: string;
}
interface AgentList {
  agents: Agent[];
  problems?: AgentProblem[];
}
interface ChatPage {
  chats: ListedChat[];
  before?: string | null;
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
  before?: string | null;
  limit?: number;
}

export const getChats = (query: ChatsQuery) =>
  read<ChatPage>(address("api/chats", { ...query } as Query));

export const getChat = (id: string, limit: number) =>
  read<ChatView>(address(`api/chats/${word(id)}`, { profile: PROFILE, limit }));

export const getMessages = (id: string, before: string | null | undefined, limit: number) =>
  read<MessagePage>(address(`api/chats/${word(id)}/messages`, { profile: PROFILE, before, limit }));

export const getAgents = () => read<AgentList>(address("api/agents"));

export const renameChat = async (id: string, title: string): Promise<ChatRow> =>
  (await ask("PATCH", address(`api/chats/${word(id)}`), { title })).json();

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

export const getFormats = async () =>
  (await read<{ formats: Format[] }>(address("api/formats"))).formats;

export const getStderr = async (runId: string) =>
  (await read<{ legs: AttemptStderr[] }>(address(`api/runs/${word(runId)}/stderr`))).legs;

/** The frames of a run so far in one format, as SSE. */
export const readRun = (runId: string, format: string) =>
  ask("GET", address(`api/runs/${word(runId)}/events`, { format, live: "off" }));

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
