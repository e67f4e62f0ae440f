/** A burst is one rendering. */
const GATHERING = 80;

/** Shows what comes in fast not piece by piece: some time after the first of it, or when told to. */
export class Gathering {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly show: () => void) {}

  /** There is something new. */
  add(): void {
    this.#timer ??= setTimeout(this.flush, GATHERING);
  }

  flush = (): void => {
    if (this.#timer === undefined) return;
    this.drop();
    this.show();
  };

  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
