import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

/** How near its end a list must be to be kept there. */
const NEAR = 40;

export type Box = RefObject<HTMLElement | null>;

/** Keeps the end of a list in sight while there is more of it, until the person scrolls up. */
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the number of rows that moves the end
  useLayoutEffect(() => {
    if (live && stays.current) scroll();
  }, [count, live]);
  const toEnd = () => {
    stays.current = true;
    scroll();
  };
  return { isAtEnd, toEnd };
}
