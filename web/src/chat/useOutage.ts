import { useEffect, useState, useSyncExternalStore } from "react";
import { outage } from "@/runs/outage";
import { useStore } from "@/store";

export interface Outage {
  /** `pending`: no answer for a few seconds; `reconnecting`: a request failed just now. */
  is: "fine" | "offline" | "pending" | "reconnecting" | "failed";
  isOnline: boolean;
  /** Until the next attempt; missing while one is under way. */
  seconds: number | undefined;
}

/** Whether the server answers, as the page shows it. */
export function useOutage(): Outage {
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  const { phase, isLong, nextAt } = useStore(outage);
  const seconds = useSecondsUntil(nextAt);
  return { is: kindOf(phase, isLong, isOnline), isOnline, seconds };
}

function kindOf(phase: string, isLong: boolean, isOnline: boolean): Outage["is"] {
  if (phase === "failed" && isLong) return "failed";
  if (!isOnline) return "offline";
  if (phase === "failed") return "reconnecting";
  return phase === "pending" && isLong ? "pending" : "fine";
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}

const secondsUntil = (time: number) => Math.max(1, Math.ceil((time - Date.now()) / 1000));

function useSecondsUntil(time: number | undefined): number | undefined {
  const [, tick] = useState(0);
  useEffect(() => {
    if (time === undefined) return;
    const timer = setInterval(() => tick((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, [time]);
  return time === undefined ? undefined : secondsUntil(time);
}
