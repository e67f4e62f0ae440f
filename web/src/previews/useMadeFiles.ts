import { useCallback, useEffect, useState } from "react";
import { getMadeFiles, type MadeFiles } from "@/api";

/** While an agent works, its files are listed again this often (ms). */
const EVERY = 4_000;

interface Listed {
  found: MadeFiles | undefined;
  isFailed: boolean;
  reload: () => void;
}

/** The files that agents made in a chat, as of now. */
export function useMadeFiles(chatId: string, isWorking: boolean): Listed {
  const [found, setFound] = useState<MadeFiles>();
  const [isFailed, setFailed] = useState(false);
  const [count, setCount] = useState(0);
  const reload = useCallback(() => setCount((old) => old + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of them means that there may be more
  useEffect(() => {
    let wanted = true;
    getMadeFiles(chatId).then(
      (files) => {
        if (!wanted) return;
        setFound(files);
        setFailed(false);
      },
      () => wanted && setFailed(true),
    );
    return () => {
      wanted = false;
    };
  }, [chatId, isWorking, count]);
  useEffect(() => {
    if (!isWorking) return;
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), EVERY);
    return () => clearInterval(timer);
  }, [isWorking, reload]);
  return { found, isFailed, reload };
}
