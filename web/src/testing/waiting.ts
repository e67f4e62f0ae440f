import { vi } from "vitest";

/** Waits for what nobody tells of; what hangs fails, what is slow on a busy machine does not. */
export const until = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 10 });
