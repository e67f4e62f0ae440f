/**
 * Which addresses an agent's text may lead to, and which it may make the page load. What is checked
 * is what the browser's own parser makes of an address, and that is what is used: so tabs, cases and
 * entities inside of a scheme fool nobody.
 */
const LINKS = new Set(["http:", "https:", "mailto:"]);
const PICTURE = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|svg\+xml)[;,]/i;
const ABSOLUTE = /^\s*(?:[a-z][a-z\d+.-]*:|[/\\])/i;

/** Where a link goes, or nothing if it must not be one. A bare path like `src/main.py` is none. */
export function linkTarget(address: string): string | undefined {
  if (!ABSOLUTE.test(address)) return undefined;
  const url = parse(address);
  return url && LINKS.has(url.protocol) ? url.href : undefined;
}

/** What an image may load: this server, or bytes that are here already. Never another host. */
export function imageSource(address: string): string | undefined {
  const url = parse(address);
  if (!url) return undefined;
  if (url.protocol === "data:") return PICTURE.test(url.href) ? url.href : undefined;
  return url.origin === location.origin && ["http:", "https:", "blob:"].includes(url.protocol)
    ? url.href
    : undefined;
}

function parse(address: string): URL | undefined {
  try {
    return new URL(address, document.baseURI);
  } catch {
    return undefined;
  }
}
