/**
 * The access key: stored until the tab is closed, and sent with all requests.
 *
 * Rule 1: it is sent in a header or in a socket's handshake, never in a URL.
 * Rule 2: signing out deletes all data stored in the tab, and a new key reloads the page: the data may
 *         belong to another user.
 * Rule 3: any request that is refused for its key locks the page, which then shows the sign-in form.
 */
import { LINK_HEADER, linkSecret } from "@/link";
import { Store } from "@/store";

const NAME = "mobox:key";
/** The error code of an unauthenticated request. */
const UNKNOWN = "unauthenticated";
/** In `www-authenticate`: the keys are the server's own, not those of an embedding app. */
const OURS = 'realm="mobox"';

interface CredentialsState {
  /** The sign-in form is shown. */
  isLocked: boolean;
  hasKey: boolean;
  /** The embedding app refused the request, not the server. */
  isOfApp: boolean;
}

class Credentials extends Store<CredentialsState> {
  #key: string | undefined;

  constructor(key: string | undefined) {
    super({ isLocked: false, hasKey: key !== undefined, isOfApp: false });
    this.#key = key;
  }

  get key(): string | undefined {
    return this.#key;
  }

  unlock(key: string): void {
    const isAnother = this.#key !== undefined && this.#key !== key;
    if (isAnother) clearTab();
    this.#key = key;
    keep(key);
    if (isAnother) location.reload();
    else this.set({ isLocked: false, hasKey: true });
  }

  /** The server or its app refused authentication; a socket cannot distinguish them. */
  lock(isOfApp = this.get().isOfApp): void {
    this.set({ isLocked: true, isOfApp });
  }

  /** Deletes the key; loaded data stays on the page until it is left. */
  forget(): void {
    this.#key = undefined;
    this.set({ isLocked: true, hasKey: false });
    clearTab();
  }
}

export const credentials = new Credentials(kept());

/** `fetch`, with the key if there is one; on a shared page, with the secret of its link instead. */
export async function fetchWithKey(url: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  const secret = linkSecret();
  if (secret !== undefined) {
    headers.set(LINK_HEADER, secret);
    return fetchInTime(url, { ...init, headers });
  }
  const { key } = credentials;
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  const response = await fetchInTime(url, key === undefined ? init : { ...init, headers });
  const isOurs = response.headers.get("www-authenticate")?.includes(OURS);
  if (response.status === 401 && credentials.key === key) credentials.lock(!isOurs);
  return response;
}

/** A response must start within this time (ms): a lost network does not report itself. */
export const LATEST_ANSWER = 15_000;
/** A longer body may take longer to send. */
const SHORT = 100_000;

async function fetchInTime(url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const { body, signal } = init;
  if (body && !(typeof body === "string" && body.length < SHORT)) return fetch(url, init);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new TypeError("network: no answer")), LATEST_ANSWER);
  const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  return fetch(url, { ...init, signal: either }).finally(() => clearTimeout(timer));
}

/** The auth payload of a socket's handshake. */
export function sendKey(send: (auth: object) => void): void {
  send(credentials.key === undefined ? {} : { key: credentials.key });
}

/** Handles a refused socket connection. */
export function noteRefusal(error: unknown): void {
  const data = (error as { data?: { code?: unknown } } | undefined)?.data;
  if (data?.code === UNKNOWN) credentials.lock();
}

function kept(): string | undefined {
  try {
    return sessionStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined; // storage is disabled: the key lives as long as the page
  }
}

function keep(key: string): void {
  try {
    sessionStorage.setItem(NAME, key);
  } catch {
    // the same
  }
}

/** Deletes all our data stored in the tab: the key and unsent drafts. */
function clearTab(): void {
  try {
    const ours = Object.keys(sessionStorage).filter((name) => name.startsWith("mobox:"));
    for (const name of ours) sessionStorage.removeItem(name);
  } catch {
    // the same
  }
}
