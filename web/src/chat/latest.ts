/**
 * Tracks which of several asynchronous operations is the latest; a newer one supersedes all before it,
 * and `leave` supersedes all.
 */
export class Latest {
  #session = new AbortController();
  #turn = 0;

  /** Aborted by `leave`. */
  get signal(): AbortSignal {
    return this.#session.signal;
  }

  /** Starts again; operations from before `leave` stay superseded. */
  enter(): void {
    this.#session = new AbortController();
  }

  leave(): void {
    this.#session.abort();
  }

  /** Starts a newer operation; returns a function that tests whether it is still the latest. */
  next(): () => boolean {
    this.#turn++;
    return this.current();
  }

  /** A test whether the present operation is still the latest. */
  current(): () => boolean {
    const { signal } = this;
    const turn = this.#turn;
    return () => !signal.aborted && turn === this.#turn;
  }
}
