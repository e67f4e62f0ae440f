import { vi } from "vitest";

/** Waits for a condition, with a timeout long enough for a busy machine. */
export const until = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 10 });
