import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Entry } from "@/inspector/entries";
import { playedAt, scheduleOf } from "@/inspector/play/schedule";

export const SPEEDS = [1, 4, 16] as const;
export type Speed = (typeof SPEEDS)[number];

/** Milliseconds between two moves. */
const FRAME = 50;

export interface Playing {
  isPlaying: boolean;
  speed: Speed;
  setSpeed: (speed: Speed) => void;
  /** Plays on from where the replay stands, from the start if it is at the end; or pauses. */
  toggle: () => void;
  playFrom: (seq: number) => void;
  /** The length of the pause that is being shortened now. */
  gap: number | undefined;
}

/** Moves the replay through the log, in recorded time. */
export function usePlay(
  entries: readonly Entry[],
  at: number | undefined,
  setAt: (at: number | undefined) => void,
): Playing {
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>(1);
  const schedule = useMemo(() => scheduleOf(entries), [entries]);
  const now = useRef({ schedule, at, speed, count: entries.length });
  now.current = { schedule, at, speed, count: entries.length };

  useEffect(() => {
    if (!isPlaying) return;
    let clock = 0;
    let last: number | undefined;
    let before = performance.now();
    const move = () => {
      const { schedule: plan, at: here, speed: factor, count } = now.current;
      const elapsed = performance.now() - before;
      before += elapsed;
      // At the start, and when the slider was moved meanwhile.
      if (here !== last) clock = plan.times[(here ?? 1) - 1] ?? 0;
      clock += elapsed * factor;
      last = playedAt(plan, clock);
      if (last >= count) {
        setPlaying(false);
        setAt(undefined);
      } else if (last !== here) setAt(last);
    };
    const timer = setInterval(move, FRAME);
    return () => clearInterval(timer);
  }, [isPlaying, setAt]);

  const playFrom = useCallback(
    (seq: number) => {
      setAt(Math.min(Math.max(1, seq), Math.max(1, now.current.count - 1)));
      setPlaying(true);
    },
    [setAt],
  );
  const toggle = useCallback(() => {
    if (isPlaying) setPlaying(false);
    else playFrom(now.current.at ?? 1);
  }, [isPlaying, playFrom]);
  const gap = isPlaying && at !== undefined ? schedule.gaps.get(at) : undefined;
  return { isPlaying: isPlaying && at !== undefined, speed, setSpeed, toggle, playFrom, gap };
}
