import { vi } from "vitest";

/** What browsers have and jsdom has not: nothing is laid out here, so nothing comes near anything. */
export function asInBrowser({ dark = false, wide = true } = {}): void {
  const observer = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  vi.stubGlobal("ResizeObserver", observer);
  vi.stubGlobal("IntersectionObserver", observer);
  const isSo = { dark, "min-width": wide, fine: true };
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: Object.entries(isSo).some(([words, is]) => is && query.includes(words)),
    addEventListener() {},
    removeEventListener() {},
  }));
  Element.prototype.hasPointerCapture ??= () => false;
  Element.prototype.scrollIntoView ??= () => {};
}
