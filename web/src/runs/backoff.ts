/** Read timeout (ms), longer than the server's heartbeat interval (10 s), to detect dead connections. */
export const SILENCE = 30_000;

const FIRST = 500;
const LONGEST = 8_000;
/** A connection that lasted this long (ms) resets the backoff. */
const STEADY = 10_000;

/** Exponential backoff between retries. */
export class Backoff {
  #tries = 0;

  next(): number {
    return Math.min(FIRST * 2 ** this.#tries++, LONGEST);
  }

  held(milliseconds: number): void {
    if (milliseconds > STEADY) this.renew();
  }

  renew(): void {
    this.#tries = 0;
  }
}
