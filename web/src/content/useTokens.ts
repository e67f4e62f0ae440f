import { useEffect, useRef, useState } from "react";
import type { Token } from "@/content/highlight";
import { languageOf } from "@/content/languages";

const MOST = 100_000;
const PAUSE = 150;

interface Done {
  code: string;
  language: string;
  tokens: Token[];
}

/**
 * Highlighted code; the part that arrived since is `rest`. Streaming code is highlighted repeatedly, for
 * at most a tenth of the time.
 */
export function useTokens(
  code: string,
  word: string | undefined,
): { tokens?: Token[]; rest: string } {
  const language = languageOf(word);
  const [done, setDone] = useState<Done>();
  const next = useRef(0);

  useEffect(() => {
    if (!language || !code || code.length > MOST) return;
    let wanted = true;
    const colour = async () => {
      const { tokenize } = await import("@/content/highlight");
      if (!wanted) return;
      const began = performance.now();
      const tokens = tokenize(code, language);
      const ended = performance.now();
      next.current = ended + Math.max(PAUSE, 10 * (ended - began));
      if (tokens) setDone({ code, language, tokens });
    };
    // Without highlighting the code is still readable: no error is shown.
    const timer = setTimeout(() => colour().catch(() => {}), next.current - performance.now());
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [code, language]);

  if (!done || done.language !== language || !code.startsWith(done.code) || code.length > MOST) {
    return { rest: code };
  }
  return { tokens: done.tokens, rest: code.slice(done.code.length) };
}
