import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react";

interface ScrollBoxProps {
  /** The accessible name. */
  label: string;
  children: ReactNode;
  className: string;
  maxHeight?: number;
  as?: "div" | "pre" | "span";
}

/**
 * A named scroll container. It is a tab stop only while its content overflows, since the keyboard
 * scrolls only the focused element.
 */
export function ScrollBox({
  label,
  children,
  className,
  maxHeight,
  as: Tag = "div",
}: ScrollBoxProps) {
  const box = useRef<HTMLDivElement & HTMLPreElement & HTMLSpanElement>(null);
  const { scrolls, more } = useScrolls(box);
  return (
    <Tag
      ref={box}
      role="group"
      aria-label={label}
      tabIndex={scrolls ? 0 : undefined}
      data-more={more ? "" : undefined}
      className={className}
      style={{ maxHeight }}
    >
      {children}
    </Tag>
  );
}

interface Overflow {
  scrolls: boolean;
  /** Lines go on beyond the right edge: the styles show that. */
  more: boolean;
}

const NONE: Overflow = { scrolls: false, more: false };

function useScrolls(box: RefObject<HTMLElement | null>): Overflow {
  const [overflow, setOverflow] = useState(NONE);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    const measure = () => {
      const { scrollWidth, clientWidth, scrollHeight, clientHeight, scrollLeft } = element;
      const isWide = scrollWidth > clientWidth + 1;
      const scrolls = isWide || scrollHeight > clientHeight + 1;
      const more = isWide && Math.abs(scrollLeft) + clientWidth < scrollWidth - 1;
      setOverflow((old) =>
        old.scrolls === scrolls && old.more === more ? old : { scrolls, more },
      );
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [box]);
  return overflow;
}
