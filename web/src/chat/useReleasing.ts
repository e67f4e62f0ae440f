import { type KeyboardEvent, type TouchEvent, useRef, type WheelEvent } from "react";

const UP_KEYS = new Set(["ArrowUp", "PageUp", "Home"]);

/**
 * Handlers that stop following the end of a list as soon as a person scrolls up. Waiting for the scroll
 * event is too late: at more than a thousand characters a second the list has been scrolled back before.
 */
export function useReleasing(release: () => void) {
  const finger = useRef<number>(undefined);
  return {
    onWheel: ({ deltaY, target, currentTarget }: WheelEvent<HTMLElement>) => {
      if (deltaY < 0 && !scrollsInside(target, currentTarget)) release();
    },
    onTouchStart: ({ touches }: TouchEvent) => {
      finger.current = touches[0]?.clientY;
    },
    onTouchMove: ({ touches, target, currentTarget }: TouchEvent<HTMLElement>) => {
      const at = touches[0]?.clientY ?? 0;
      const isUp = finger.current !== undefined && at > finger.current;
      finger.current = at;
      if (isUp && !scrollsInside(target, currentTarget)) release();
    },
    onKeyDown: ({ key, target, currentTarget }: KeyboardEvent<HTMLElement>) => {
      if (UP_KEYS.has(key) && target === currentTarget) release();
    },
  };
}

/** Whether an element inside the list takes the move: one that is scrolled itself. */
function scrollsInside(target: EventTarget, list: HTMLElement): boolean {
  let at = target instanceof Element ? target : null;
  for (; at && at !== list; at = at.parentElement) {
    const isScroller = /auto|scroll/.test(getComputedStyle(at).overflowY);
    if (isScroller && at.scrollTop > 0) return true;
  }
  return false;
}
