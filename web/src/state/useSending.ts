import { useRef, useState } from "react";
import { failureMessage } from "@/failure";

interface Sending {
  /** A request is pending: nothing else may be sent. */
  busy: boolean;
  /** The error message. */
  problem: string | undefined;
  send: (action: () => unknown) => void;
}

/**
 * The state of sending to the server. On success the sending component disappears, so it stays busy
 * unless sending fails.
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
      setState({ busy: false, problem: failureMessage(error) });
    }
  };
  return { busy: state.busy, problem: state.problem, send: (action) => void send(action) };
}
