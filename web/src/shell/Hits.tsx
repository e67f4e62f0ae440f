import type { Hit, ListedChat } from "@/api";
import { strings } from "@/strings";
import { RouteLink } from "@/ui/RouteLink";

interface HitsProps {
  row: ListedChat;
  onOpen: (id: string, message?: string) => void;
}

/** The messages of a chat that a search found; each leads to its place in the chat. */
export function Hits({ row, onOpen }: HitsProps) {
  if (!row.hits?.length) return null;
  return (
    <li>
      <ul aria-label={strings.sidebar.hitsOf(row.title)} className="mb-1 ms-3 border-s">
        {row.hits.map((hit) => (
          <li key={hit.messageId}>
            <RouteLink
              to={{ page: "chat", id: row.id, message: hit.messageId }}
              onOpen={() => onOpen(row.id, hit.messageId)}
              className="block rounded-e-block px-2 py-1.5 text-mono leading-snug text-ink-2 hover:bg-ground-3 max-md:min-h-11"
            >
              <Excerpt hit={hit} />
            </RouteLink>
          </li>
        ))}
      </ul>
    </li>
  );
}

const Excerpt = ({ hit }: { hit: Hit }) => (
  <span dir="auto" className="line-clamp-2 break-words">
    <span className="font-medium">
      {hit.role === "user" ? strings.sidebar.fromYou : strings.sidebar.fromAgent}
    </span>{" "}
    {hit.before}
    <mark className="rounded-xs bg-running-ground font-medium text-running">{hit.match}</mark>
    {hit.after}
  </span>
);
