/**
 * Which of the things that go on counts: something newer takes the place of all before it, and who
 * leaves ends all.
 */
export class Newest {
  #session = new AbortController();
  #turn = 0;

  /** Aborted when it is left. */
  get signal(): AbortSignal {
    return this.#session.signal;
  }

  /** Begins once more; what went on before it was left does not. */
  enter(): void {
    this.#session = new AbortController();
  }

  leave(): void {
    this.#session.abort();
  }

  /** Something newer. What comes back says whether it still is what counts. */
  next(): () => boolean {
    this.#turn++;
    return this.current();
  }

  /** Of what goes on now: whether it still does. */
  current(): () => boolean {
    const { signal } = this;
    const turn = this.#turn;
    return () => !signal.aborted && turn === this.#turn;
  }
}
