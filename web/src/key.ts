/**
 * The key that a server may ask for: kept until the tab is closed, and sent with all that the page asks.
 *
 * Rule 1: it goes out in a header, or with a socket's first word, never in an address.
 * Rule 2: with a key goes all that the tab keeps, and with another one all that the page knows: they may be
 *         somebody else's.
 * Rule 3: whoever is told that there is no such key shuts the door: the page asks for another.
 */
import { Store } from "@/store";

const NAME = "mobox:key";
/** Of refusals: nobody knows who asks. */
const UNKNOWN = "unauthenticated";
/** In `www-authenticate`: keys are the server's own, and no app's that it is part of. */
const OURS = 'realm="mobox"';

interface DoorState {
  /** Whether the page waits for a key. */
  isShut: boolean;
  hasKey: boolean;
  /** Whether it is an app that the server is part of, and not the server, who does not know them. */
  isOfApp: boolean;
}

class Door extends Store<DoorState> {
  #key: string | undefined;

  constructor(key: string | undefined) {
    super({ isShut: false, hasKey: key !== undefined, isOfApp: false });
    this.#key = key;
  }

  get key(): string | undefined {
    return this.#key;
  }

  open(key: string): void {
    const isAnother = this.#key !== undefined && this.#key !== key;
    if (isAnother) clearTab();
    this.#key = key;
    keep(key);
    if (isAnother) location.reload();
    else this.set({ isShut: false, hasKey: true });
  }

  /** The server does not know who asks, or its app; a socket is not told which. */
  shut(isOfApp = this.get().isOfApp): void {
    this.set({ isShut: true, isOfApp });
  }

  /** Forgets the key; what is known by it is on the page until that is left. */
  forget(): void {
    this.#key = undefined;
    this.set({ isShut: true, hasKey: false });
    clearTab();
  }
}

export const door = new Door(kept());

/** `fetch`, with the key if there is one. */
export async function fetchWithKey(url: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const { key } = door;
  const headers = new Headers(init?.headers);
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  const response = await fetch(url, key === undefined ? init : { ...init, headers });
  const isOurs = response.headers.get("www-authenticate")?.includes(OURS);
  if (response.status === 401 && door.key === key) door.shut(!isOurs);
  return response;
}

/** What a socket says of itself when it connects. */
export function tellKey(tell: (auth: object) => void): void {
  tell(door.key === undefined ? {} : { key: door.key });
}

/** What a socket was told where it may not connect. */
export function noteRefusal(error: unknown): void {
  const data = (error as { data?: { code?: unknown } } | undefined)?.data;
  if (data?.code === UNKNOWN) door.shut();
}

function kept(): string | undefined {
  try {
    return sessionStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined; // storage is switched off: it lives as long as the page
  }
}

function keep(key: string): void {
  try {
    sessionStorage.setItem(NAME, key);
  } catch {
    // the same
  }
}

/** Of what the tab keeps, nothing of ours stays: neither the key nor words that were not sent. */
function clearTab(): void {
  try {
    const ours = Object.keys(sessionStorage).filter((name) => name.startsWith("mobox:"));
    for (const name of ours) sessionStorage.removeItem(name);
  } catch {
    // the same
  }
}
