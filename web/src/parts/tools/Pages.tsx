import { linkTarget } from "@/content/urls";
import type { Found } from "@/parts/tools/reading";

/** Pages that a search found. */
export const Pages = ({ pages }: { pages: Found[] }) => (
  <ul className="space-y-2 text-block">
    {pages.map((page, place) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a page may be found twice
      <li key={place} className="min-w-0">
        <Page page={page} />
      </li>
    ))}
  </ul>
);

function Page({ page: { title, url, text } }: { page: Found }) {
  const href = linkTarget(url);
  return (
    <>
      <p className="break-words">
        {href ? (
          <a
            href={href}
            target="_blank"
            rel="noopener noreferrer"
            className="text-accent underline decoration-1 underline-offset-2"
          >
            {title}
          </a>
        ) : (
          <span className="font-medium">{title}</span>
        )}{" "}
        {title !== url && <span className="break-all text-ink-2">{url}</span>}
      </p>
      {text && <p className="line-clamp-3 break-words text-ink-2">{text}</p>}
    </>
  );
}
