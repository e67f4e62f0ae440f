import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

/** The distance from the end within which a list stays scrolled to it. */
const NEAR = 40;

export type Box = RefObject<HTMLElement | null>;

/** Keeps a growing list scrolled to its end until the user scrolls up. */
export function useEnd(box: Box, count: number, live: boolean, scroll: () => void) {
  const [isAtEnd, setIsAtEnd] = useState(true);
  const stays = useRef(live);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let before = 0;
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      const near = scrollHeight - scrollTop - clientHeight < NEAR;
      if (near) stays.current = true;
      else if (scrollTop < before) stays.current = false;
      before = scrollTop;
      setIsAtEnd(near);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [box]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the number of rows moves the end
  useLayoutEffect(() => {
    if (live && stays.current) scroll();
  }, [count, live]);
  const toEnd = () => {
    stays.current = true;
    scroll();
  };
  return { isAtEnd, toEnd };
}
