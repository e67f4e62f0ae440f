import { useRef, useState } from "react";

export type Outcome = unknown;

interface Sending {
  /** Something is on its way: nothing else may be said meanwhile. */
  busy: boolean;
  failed: boolean;
  send: (action: () => Outcome) => void;
}

/**
 * An answer on its way. Once it has arrived the question is another block; so it is busy until then,
 * unless sending fails.
 */
export function useSending(): Sending {
  const [state, setState] = useState<"idle" | "busy" | "failed">("idle");
  const isBusy = useRef(false);
  const send = (action: () => Outcome) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setState("busy");
    const fail = () => {
      isBusy.current = false;
      setState("failed");
    };
    try {
      Promise.resolve(action()).catch(fail);
    } catch {
      fail();
    }
  };
  return { busy: state === "busy", failed: state === "failed", send };
}
