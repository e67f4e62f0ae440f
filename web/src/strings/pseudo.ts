/**
 * A catalogue for tests, made of English: each text is in brackets, so that a text which is in no
 * catalogue stands out, and a cut one lacks its end.
 */
export function pseudo<T>(value: T): T {
  return bracketed(value) as T;
}

function bracketed(value: unknown): unknown {
  if (typeof value === "string") return `[${value}]`;
  if (typeof value === "function") return (...args: unknown[]) => bracketed(value(...args));
  if (Array.isArray(value)) return value.map(bracketed);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, bracketed(each)]));
  }
  return value;
}
