import { useEffect, useState } from "react";
import { bytesOf, TooLarge } from "@/previews/bytes";

export type Loaded =
  | { state: "loading" }
  | { state: "there"; bytes: Uint8Array<ArrayBuffer> }
  | { state: "failed" | "large" };

/** The bytes of a file; `again` loads them anew. */
export function useBytes(url: string, again: number): Loaded {
  const key = `${again} ${url}`;
  const [done, setDone] = useState<{ key: string; loaded: Loaded }>();
  useEffect(() => {
    const ending = new AbortController();
    const end = (loaded: Loaded) => !ending.signal.aborted && setDone({ key, loaded });
    bytesOf(url, ending.signal).then(
      (bytes) => end({ state: "there", bytes }),
      (error: unknown) => end({ state: error instanceof TooLarge ? "large" : "failed" }),
    );
    return () => ending.abort();
  }, [url, key]);
  return done?.key === key ? done.loaded : { state: "loading" };
}

/** An address for bytes, as long as the component is shown. */
export function useObjectUrl(bytes: Uint8Array<ArrayBuffer>, type: string): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return url;
}
