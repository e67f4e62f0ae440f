import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react";

interface ScrollBoxProps {
  /** The accessible name. */
  label: string;
  children: ReactNode;
  className: string;
  maxHeight?: number;
  as?: "div" | "pre";
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
