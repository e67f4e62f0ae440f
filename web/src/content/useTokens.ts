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
 * Code in colours, as far as they are known: what came since then is `rest`. Code that grows is
 * coloured again and again, but not more than a tenth of the time goes into it.
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
    // Without colours the code is as good as it was: nothing to tell anybody.
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
