import { vi } from "vitest";

/** What browsers have and jsdom has not: nothing is laid out here, so nothing comes near anything. */
export function asInBrowser({ dark = false } = {}): void {
  const observer = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  vi.stubGlobal("ResizeObserver", observer);
  vi.stubGlobal("IntersectionObserver", observer);
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: query.includes("dark") ? dark : query.includes("fine"),
    addEventListener() {},
    removeEventListener() {},
  }));
  Element.prototype.hasPointerCapture ??= () => false;
  Element.prototype.scrollIntoView ??= () => {};
}
