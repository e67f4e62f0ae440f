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

/**
 * What an image may load: bytes that are here already. Another host would learn who looks; this one
 * would get requests that nobody made, with the person's cookies.
 */
export function imageSource(address: string): string | undefined {
  const url = parse(address);
  if (!url) return undefined;
  const isHere = url.protocol === "blob:" && url.origin === location.origin;
  return isHere || PICTURE.test(url.href) ? url.href : undefined;
}

function parse(address: string): URL | undefined {
  try {
    return new URL(address, document.baseURI);
  } catch {
    return undefined;
  }
}
