import { sourceElementId } from "@/content/Marks";
import { linkTarget } from "@/content/urls";
import type { SourceItem, SourcesBlock } from "@/parts/blocks";
import { useChoice } from "@/state/folds";
import { strings } from "@/strings";
import { Caption } from "@/ui/Caption";
import { Fold } from "@/ui/Fold";

const words = strings.parts;

/** The sources of an answer: cited ones with their numbers, then those only found. */
export function Sources({ block: { key, cited, found } }: { block: SourcesBlock }) {
  return (
    <div className="text-block">
      {cited.length > 0 && (
        <>
          <Caption>{words.sources}</Caption>
          <ol className="space-y-1.5">
            {cited.map((item, place) => (
              <Line key={item.id} item={item} number={place + 1} />
            ))}
          </ol>
        </>
      )}
      {found.length > 0 && <Found id={key} items={found} beside={cited.length > 0} />}
    </div>
  );
}

function Found({ id, items, beside }: { id: string; items: SourceItem[]; beside: boolean }) {
  const [choice, choose] = useChoice(id);
  const label = beside ? words.moreSources : words.foundSources;
  return (
    <Fold
      open={choice ?? false}
      onToggle={choose}
      className={beside ? "mt-1" : undefined}
      headClassName="w-fit! px-0! text-ink-2"
      head={<span>{label(items.length)}</span>}
    >
      <ul className="space-y-1.5 pb-2">
        {items.map((item) => (
          <Line key={item.url ?? item.title} item={item} />
        ))}
      </ul>
    </Fold>
  );
}

function Line({ item, number }: { item: SourceItem; number?: number }) {
  return (
    <li
      id={item.id === undefined ? undefined : sourceElementId({ id: item.id })}
      className="flex scroll-mt-4 gap-2 rounded-small"
    >
      {number !== undefined && (
        <span className="min-w-5 shrink-0 text-ink-2 tabular-nums">{number}.</span>
      )}
      <div className="min-w-0">
        <Title item={item} />
        {item.quotes.map((quote) => (
          <q key={quote} className="mt-0.5 line-clamp-3 block border-s-2 ps-2 text-ink-2 italic">
            {quote}
          </q>
        ))}
      </div>
    </li>
  );
}

function Title({ item: { title, url, place } }: { item: SourceItem }) {
  const href = url && linkTarget(url);
  const beside = href ? new URL(href).host.replace(/^www\./, "") : place;
  return (
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
      )}
      {beside && beside !== title && <span className="text-ink-2"> {beside}</span>}
    </p>
  );
}
