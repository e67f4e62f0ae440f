/**
 * Which URLs an agent's text may link to, and which it may make the page load. The URL is parsed by the
 * browser's own parser and the parsed form is used, so that tabs, case and entities inside a scheme
 * cannot bypass the check.
 */
const LINKS = new Set(["http:", "https:", "mailto:"]);
const PICTURE = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|svg\+xml)[;,]/i;
const FILE = /^file_[\da-f]{40}$/;
const ABSOLUTE = /^\s*(?:[a-z][a-z\d+.-]*:|[/\\])/i;

/** The link's URL, or undefined if it is not allowed. A bare path like `src/main.py` is no link. */
export function linkTarget(address: string): string | undefined {
  if (!ABSOLUTE.test(address)) return undefined;
  const url = parse(address);
  return url && LINKS.has(url.protocol) ? url.href : undefined;
}

/**
 * The allowed image sources: inline bytes, and files of messages, which this server only reads. Another
 * host would learn who reads the page; other routes would get forged requests with the user's cookies.
 */
export function imageSource(address: string): string | undefined {
  const url = parse(address);
  if (!url) return undefined;
  const isHere = url.origin === location.origin && (url.protocol === "blob:" || isStored(url));
  return isHere || PICTURE.test(url.href) ? url.href : undefined;
}

/** The file of a message, below the page's base. With keys its address is signed. */
function isStored({ pathname }: URL): boolean {
  const files = new URL("api/files/", document.baseURI).pathname;
  return pathname.startsWith(files) && FILE.test(pathname.slice(files.length));
}

function parse(address: string): URL | undefined {
  try {
    return new URL(address, document.baseURI);
  } catch {
    return undefined;
  }
}
