/** A file that was dropped on another page, until the page of recordings takes it. */
let waiting: File | undefined;

export const dropped = {
  put: (file: File): void => {
    waiting = file;
  },
  take: (): File | undefined => {
    const file = waiting;
    waiting = undefined;
    return file;
  },
};
