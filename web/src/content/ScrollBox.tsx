import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react";

interface ScrollBoxProps {
  /** What is in it. */
  label: string;
  children: ReactNode;
  className: string;
  maxHeight?: number;
  as?: "div" | "pre";
}

/**
 * A box with a name that scrolls by itself where it holds more than it shows. Then the keyboard must
 * be able to reach it, since only what has the focus scrolls; otherwise that would be a stop for
 * nothing.
 */
export function ScrollBox({
  label,
  children,
  className,
  maxHeight,
  as: Tag = "div",
}: ScrollBoxProps) {
  const box = useRef<HTMLDivElement & HTMLPreElement>(null);
  const scrolls = useScrolls(box);
  return (
    <Tag
      ref={box}
      role="group"
      aria-label={label}
      tabIndex={scrolls ? 0 : undefined}
      className={className}
      style={{ maxHeight }}
    >
      {children}
    </Tag>
  );
}

function useScrolls(box: RefObject<HTMLElement | null>): boolean {
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    const measure = () =>
      setScrolls(
        element.scrollWidth > element.clientWidth + 1 ||
          element.scrollHeight > element.clientHeight + 1,
      );
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, [box]);
  return scrolls;
}
