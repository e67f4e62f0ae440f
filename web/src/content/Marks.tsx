import { createContext, useContext } from "react";
import type { Source } from "@/content/citations";
import { linkTarget } from "@/content/urls";
import { strings } from "@/strings";

/** The sources of the text around, by which a mark knows what it stands for. */
export const SourcesAround = createContext<readonly Source[]>([]);

/** The element of a source in a list of them, to which a mark without an address goes. */
export const sourceElementId = (source: Pick<Source, "id">): string => `source-${source.id}`;

/** A small number in the text that leads to the source of what was said before it. */
export function SourceMark({ number }: { number: number }) {
  const source = useContext(SourcesAround).find((candidate) => candidate.number === number);
  if (!source) return null;
  const shared = {
    className: "source-mark",
    title: source.citedText || source.title,
    "aria-label": strings.content.source(number, source.title),
    children: number,
  };
  const href = source.url && linkTarget(source.url);
  return (
    <sup>
      {href ? (
        <a {...shared} href={href} target="_blank" rel="noopener noreferrer" />
      ) : (
        <button {...shared} type="button" onClick={() => show(sourceElementId(source))} />
      )}
    </sup>
  );
}

/** Scrolls there and gives it the focus. An address would leave the page, which has a `<base>`. */
export function show(id: string): void {
  const element = document.getElementById(id);
  if (!element) return;
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.scrollIntoView?.({ block: "nearest" });
  element.focus({ preventScroll: true });
}
