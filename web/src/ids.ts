/**
 * A new id. `crypto.randomUUID` exists only in secure contexts, and servers on home networks often use
 * plain HTTP; `getRandomValues` always exists.
 */
export function newId(source: Crypto = crypto): string {
  if (typeof source.randomUUID === "function") return source.randomUUID();
  const bytes = source.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
