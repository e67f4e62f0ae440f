import { failureOf } from "@/failure";
import { Backoff } from "@/runs/backoff";
import { outage } from "@/runs/outage";
import { pause } from "@/runs/pause";

/** The attempts of one caller to reach the server, and the report of them to `outage`. */
export class Retries {
  #backoff = new Backoff();

  /** A request was sent. */
  begin(): void {
    outage.note(this, {});
  }

  /** The request failed: waits until the next attempt. */
  async wait(signal: AbortSignal): Promise<void> {
    const delay = this.#backoff.next();
    outage.note(this, { hasFailed: true, nextAt: Date.now() + delay });
    await pause(delay, signal);
    if (signal.aborted) this.end();
    else outage.trying(this);
  }

  /**
   * The server answered, or the caller stopped waiting. The backoff grows until `renew`: the next
   * stream may break, too.
   */
  end(): void {
    outage.end(this);
  }

  held(milliseconds: number): void {
    this.#backoff.held(milliseconds);
  }

  renew(): void {
    this.#backoff.renew();
  }
}

/** Repeats a request until the server answers; throws its refusal, or when `isOver`. */
export async function untilAnswered<T>(
  request: () => Promise<T>,
  signal: AbortSignal,
  isOver = () => signal.aborted,
): Promise<T> {
  const retries = new Retries();
  try {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (failureOf(error).kind !== "lost" || isOver()) throw error;
        await retries.wait(signal);
        if (isOver()) throw error;
      }
    }
  } finally {
    retries.end();
  }
}
