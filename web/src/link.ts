/**
 * The secret of the link by which this page was opened, if it is a shared chat: `shared#<secret>`.
 *
 * Rule 1: browsers do not send the fragment of an address; it is sent in a header only, to the routes of
 *         links, and never with the user's key.
 * Rule 2: it stays the same as long as the page is open: another fragment loads the page again.
 */
export const LINK_HEADER = "x-mobox-link";

type Address = Pick<Location, "pathname" | "hash">;

/** The secret in an address; `base` is that of the page. An address without one opens nothing. */
export function secretIn({ pathname, hash }: Address, base: string): string | undefined {
  const isShared = pathname.replace(/\/$/, "") === new URL("shared", base).pathname;
  return isShared ? hash.slice(1) || "none" : undefined;
}

// Some tests have no page.
let secret = typeof location === "undefined" ? undefined : secretIn(location, document.baseURI);

/** The secret; undefined if this is no shared page. */
export const linkSecret = (): string | undefined => secret;

/** For tests: the page has another address. */
export const readLink = (): void => {
  secret = secretIn(location, document.baseURI);
};

if (secret !== undefined) window.addEventListener("hashchange", () => location.reload());

/** The address of a link. */
export const linkAddress = (of: string): string => new URL(`shared#${of}`, document.baseURI).href;
