import { Store } from "@/store";

/** Requests must go unanswered for this long (ms) before the page shows it. */
export const NOTICE_AFTER = 3_500;

interface OutageState {
  /** `pending`: no answer yet; `failed`: a request failed and is repeated. */
  phase: "none" | "pending" | "failed";
  /** It has lasted for `NOTICE_AFTER`. */
  isLong: boolean;
  /** The time of the next attempt; missing while one is under way. */
  nextAt: number | undefined;
}

/** What one retrying caller waits for. */
interface Waiting {
  since: number;
  hasFailed: boolean;
  nextAt?: number;
}

const NONE: OutageState = { phase: "none", isLong: false, nextAt: undefined };

/**
 * Whether the server answers, for the whole page. The only owner of this: each caller that repeats its
 * requests reports by its own `Retries`, and the notice shows the sum of them.
 */
class Outage extends Store<OutageState> {
  #waiting = new Map<object, Waiting>();
  #retries = new EventTarget();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super(NONE);
  }

  note(caller: object, change: Partial<Waiting>): void {
    const before = this.#waiting.get(caller) ?? { since: Date.now(), hasFailed: false };
    this.#waiting.set(caller, { ...before, ...change });
    this.#update();
  }

  /** The next attempt is under way, if its caller still waits. */
  trying(caller: object): void {
    if (this.#waiting.has(caller)) this.note(caller, { nextAt: undefined });
  }

  /** This caller waits no more. If the server answered again, the others need not wait either. */
  end(caller: object): void {
    const known = this.#waiting.get(caller);
    if (!this.#waiting.delete(caller)) return;
    this.#update();
    if (known?.hasFailed) this.retry();
  }

  /** Ends all pauses: whatever failed is repeated now. */
  retry = (): void => void this.#retries.dispatchEvent(new Event("retry"));

  onRetry(listener: () => void, signal: AbortSignal): void {
    this.#retries.addEventListener("retry", listener, { signal });
  }

  #update(): void {
    clearTimeout(this.#timer);
    const all = Array.from(this.#waiting.values());
    if (!all.length) {
      this.set(NONE);
      return;
    }
    const failed = all.filter(({ hasFailed }) => hasFailed);
    const shown = failed.length ? failed : all;
    const left = Math.min(...shown.map(({ since }) => since)) + NOTICE_AFTER - Date.now();
    if (left > 0) this.#timer = setTimeout(() => this.#update(), left);
    const next = shown.flatMap(({ nextAt }) => nextAt ?? []);
    this.set({
      phase: failed.length ? "failed" : "pending",
      isLong: left <= 0,
      nextAt: next.length ? Math.min(...next) : undefined,
    });
  }
}

export const outage = new Outage();
