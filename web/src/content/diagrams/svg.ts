/**
 * A drawn diagram as an inert picture: it is shown by `<img>`, where no script runs and nothing is loaded.
 * What could do either is removed anyway.
 */
export interface Drawing {
  /** The SVG document. */
  svg: string;
  /** The size in pixels. */
  width: number;
  height: number;
}

const REMOVED = "script, iframe, object, embed, image, img, link, meta, base, animate, set, use";
const ATTRIBUTE = /^(?:on|formaction|srcdoc)/i;
const ADDRESS = /^(?:xlink:)?href$|^src$|^action$/i;
const LARGEST = 8_000;

export function drawingOf(markup: string): Drawing | undefined {
  const svg = new DOMParser().parseFromString(markup, "text/html").querySelector("svg");
  if (!svg) return undefined;
  for (const element of svg.querySelectorAll(REMOVED)) element.remove();
  for (const element of [svg, ...svg.querySelectorAll("*")]) clean(element);
  const size = sizeOf(svg);
  if (!size) return undefined;
  svg.setAttribute("width", String(size.width));
  svg.setAttribute("height", String(size.height));
  svg.style.removeProperty("max-width");
  return { svg: new XMLSerializer().serializeToString(svg), ...size };
}

function clean(element: Element): void {
  for (const { name, value } of [...element.attributes]) {
    const isForeign = ADDRESS.test(name) && !value.trim().startsWith("#");
    if (ATTRIBUTE.test(name) || isForeign || /url\(\s*["']?(?!#)/i.test(value))
      element.removeAttribute(name);
  }
  if (element.tagName.toLowerCase() === "style")
    element.textContent = (element.textContent ?? "").replace(/@import[^;]*;?|url\([^)]*\)/gi, "");
}

function sizeOf(svg: Element): { width: number; height: number } | undefined {
  const box =
    svg
      .getAttribute("viewBox")
      ?.trim()
      .split(/[\s,]+/)
      .map(Number) ?? [];
  const [, , width = 0, height = 0] = box;
  if (!(width > 0 && height > 0)) return undefined;
  return {
    width: Math.min(Math.ceil(width), LARGEST),
    height: Math.min(Math.ceil(height), LARGEST),
  };
}

export const addressOf = (svg: string): string =>
  `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
