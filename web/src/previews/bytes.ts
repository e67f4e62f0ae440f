import { fetchWithKey } from "@/key";

/** A larger file is not loaded to be looked at. */
export const LARGEST = 20_000_000;

export class TooLarge extends Error {}

/** The bytes of a file, which is inline or on this server. */
export async function bytesOf(url: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  if (/^data:/i.test(url)) return inline(url);
  const target = new URL(url, document.baseURI);
  // Another host would learn who reads the page.
  if (target.origin !== location.origin) throw new Error("not on this server");
  const response = await fetchWithKey(target.href, { signal });
  if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
  return bounded(response.body);
}

function inline(url: string): Uint8Array<ArrayBuffer> {
  const comma = url.indexOf(",");
  const data = decodeURIComponent(url.slice(comma + 1));
  if (data.length > 2 * LARGEST) throw new TooLarge();
  if (!/;base64$/i.test(url.slice(0, comma))) return new TextEncoder().encode(data);
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}

async function bounded(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const reader = body.getReader();
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > LARGEST) {
      await reader.cancel();
      throw new TooLarge();
    }
    pieces.push(new Uint8Array(next.value));
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** The text of a file; undefined if it is none. */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8_000).includes(0)) return undefined;
  return new TextDecoder().decode(bytes);
}
