/**
 * Which URLs an agent's text may link to, and which it may make the page load. The URL is parsed by the
 * browser's own parser and the parsed form is used, so that tabs, case and entities inside a scheme
 * cannot bypass the check.
 */
const LINKS = new Set(["http:", "https:", "mailto:"]);
const PICTURE = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|svg\+xml)[;,]/i;
const ABSOLUTE = /^\s*(?:[a-z][a-z\d+.-]*:|[/\\])/i;

/** The link's URL, or undefined if it is not allowed. A bare path like `src/main.py` is no link. */
export function linkTarget(address: string): string | undefined {
  if (!ABSOLUTE.test(address)) return undefined;
  const url = parse(address);
  return url && LINKS.has(url.protocol) ? url.href : undefined;
}

/**
 * The allowed image sources: inline bytes. Another host would learn who reads the page; this server
 * would get forged requests with the user's cookies.
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
