import { vi } from "vitest";

/** Stubs for browser APIs that jsdom lacks. There is no layout, so nothing ever intersects. */
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
