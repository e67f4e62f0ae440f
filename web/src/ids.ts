/**
 * A new id. `crypto.randomUUID` exists only where the page is secure, and a server on a home
 * network is often asked by plain http; `getRandomValues` is there always.
 */
export function newId(source: Crypto = crypto): string {
  if (typeof source.randomUUID === "function") return source.randomUUID();
  const bytes = source.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
