/** Longer than the server is ever silent (10 s), so that a connection nobody closed is noticed. */
export const SILENCE = 30_000;

const FIRST = 500;
const LONGEST = 8_000;
/** A connection that held for so long was a good one: if it breaks, that is a new story. */
const STEADY = 10_000;

/** How long to wait before the next try: longer each time, until one was good. */
export class Patience {
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
