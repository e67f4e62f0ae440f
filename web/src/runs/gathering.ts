/** Updates within this time (ms) are rendered together. */
const GATHERING = 80;

/** Batches fast updates: calls `show` some time after the first one, or on `flush`. */
export class Gathering {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly show: () => void) {}

  /** Schedules an update. */
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
