import type { UIMessage } from "ai";
import { fetchWithKey } from "@/key";

/**
 * The server's JSON routes, typed. Addresses are relative to the page's `<base>`, so that the page
 * works below any path. What the server refuses is thrown as `Refused`, in the server's words; a
 * server that cannot be reached is whatever `fetch` throws.
 */

export const PROFILE = "v7";

export interface ChatRow {
  id: string;
  title: string;
  createdAt: number;
  updatedAt: number;
}
/** As much of a chat as one must know to speak of it. */
export type NamedChat = Pick<ChatRow, "id" | "title">;
export interface ListedChat extends ChatRow {
  /** Of the run that goes on, or waits for the person. */
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
}
interface ChatPage {
  chats: ListedChat[];
  before?: string | null;
}
export type Decision = "approved" | "denied" | "edited" | "answered" | "cancelled";
export interface Answer {
  requestId: string;
  decision: Decision;
  value?: unknown;
  reason?: string;
}

/** The server understood, and said no. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "Refused";
  }

  /** What the body of a refusal says: ours, or whatever something in between wrote. */
  static from(status: number, body: string): Refused {
    try {
      const { code, message } = JSON.parse(body).error;
      if (typeof code === "string" && typeof message === "string") {
        return new Refused(status, code, message);
      }
    } catch {
      // not JSON: a proxy speaks
    }
    return new Refused(status, "unknown", `HTTP ${status}`);
  }
}

type Query = Record<string, string | number | undefined | null>;

/** The absolute address of something the page is served with. */
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

export const getAgents = async () =>
  (await read<{ agents: Agent[] }>(address("api/agents"))).agents;

export const renameChat = async (id: string, title: string): Promise<ChatRow> =>
  (await ask("PATCH", address(`api/chats/${word(id)}`), { title })).json();

export const deleteChat = async (id: string): Promise<void> => {
  await ask("DELETE", address(`api/chats/${word(id)}`));
};

export const stopRun = async (id: string, runId?: string): Promise<{ runId: string | null }> =>
  (await ask("POST", address(`api/chat/${word(id)}/stop`), runId ? { runId } : {})).json();

export const sendAnswer = async (id: string, answer: Answer): Promise<void> => {
  await ask("POST", address(`api/chat/${word(id)}/answer`), answer);
};

/** A format that a run can be told in, and its profiles, the default first. */
export interface Format {
  name: string;
  profiles: string[];
}
/** What one execution of an agent wrote to stderr. */
export interface LegStderr {
  leg: number;
  text: string;
}

export const getFormats = async () =>
  (await read<{ formats: Format[] }>(address("api/formats"))).formats;

export const getStderr = async (runId: string) =>
  (await read<{ legs: LegStderr[] }>(address(`api/runs/${word(runId)}/stderr`))).legs;

/** What there is of a run now, in one format, as events of a stream. */
export const readRun = (runId: string, format: string) =>
  ask("GET", address(`api/runs/${word(runId)}/events`, { format, live: "off" }));

/** A whole chat, however long: for an export. */
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
