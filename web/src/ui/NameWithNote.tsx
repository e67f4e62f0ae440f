/** A name, cut off where it is too long, and beside it a quiet note, which is not. */
export const NameWithNote = ({ name, note }: { name: string; note?: string }) => (
  <span className="flex min-w-0 items-baseline gap-2">
    <span className="truncate">{name}</span>{" "}
    {note && <span className="shrink-0 text-label text-ink-2">{note}</span>}
  </span>
);
