import { createContext, useContext } from "react";
import type { Source } from "@/content/citations";
import { linkTarget } from "@/content/urls";
import { strings } from "@/strings";

/** The sources of the surrounding text, looked up by the marks. */
export const SourcesAround = createContext<readonly Source[]>([]);

/** The source's element in the list, the target of marks without a URL. */
export const sourceElementId = (source: Pick<Source, "id">): string => `source-${source.id}`;

/** A citation mark: a small number that links to the source. */
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

/** Scrolls to the element and focuses it. A `#` link would leave the page, which has a `<base>`. */
export function show(id: string): void {
  const element = document.getElementById(id);
  if (!element) return;
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.scrollIntoView?.({ block: "nearest" });
  element.focus({ preventScroll: true });
}
