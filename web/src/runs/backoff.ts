/** Read timeout (ms), longer than the server's heartbeat interval (10 s), to detect dead connections. */
export const SILENCE = 30_000;

const FIRST = 500;
const LONGEST = 8_000;
/** Pages that lost the same server must not return at the same moment: a delay is shortened by up to this. */
const JITTER = 0.25;
/** A connection that lasted this long (ms) resets the backoff. */
const STEADY = 10_000;

/** Exponential backoff between retries, with jitter. */
export class Backoff {
  #tries = 0;

  next(): number {
    const delay = Math.min(FIRST * 2 ** this.#tries++, LONGEST);
    return delay * (1 - JITTER * Math.random());
  }

  held(milliseconds: number): void {
    if (milliseconds > STEADY) this.renew();
  }

  renew(): void {
    this.#tries = 0;
  }
}
