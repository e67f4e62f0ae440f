import { useRef, useState } from "react";
import { tellFailure } from "@/failure";

interface Sending {
  /** Something is on its way: nothing else may be sent meanwhile. */
  busy: boolean;
  /** Why it did not arrive, in words. */
  problem: string | undefined;
  send: (action: () => unknown) => void;
}

/**
 * Something on its way to the server. Once it has arrived, what it was sent from is gone; so it is
 * busy until then, unless sending fails.
 */
export function useSending(): Sending {
  const [state, setState] = useState<{ busy: boolean; problem?: string }>({ busy: false });
  const isBusy = useRef(false);
  const send = async (action: () => unknown) => {
    if (isBusy.current) return;
    isBusy.current = true;
    setState({ busy: true });
    try {
      await action();
    } catch (error) {
      isBusy.current = false;
      setState({ busy: false, problem: tellFailure(error) });
    }
  };
  return { busy: state.busy, problem: state.problem, send: (action) => void send(action) };
}
