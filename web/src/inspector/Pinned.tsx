import type { Item } from "@/inspector/folding";
import type { RowData } from "@/inspector/Grid";
import { Row } from "@/inspector/Row";
import { TREEGRID } from "@/inspector/roles";
import { strings } from "@/strings";

interface PinnedProps {
  rows: readonly Item[];
  rowProps: (item: Item) => RowData;
}

/** Rows that stay visible, independent of filter and scroll position. */
export function Pinned({ rows, rowProps }: PinnedProps) {
  if (rows.length === 0) return null;
  return (
    <div
      {...{ ...TREEGRID, "aria-label": strings.inspector.pinned }}
      className="max-h-[40%] shrink-0 overflow-y-auto border-b-2 bg-ground-2 [scrollbar-gutter:stable]"
    >
      {rows.map((item) => (
        <Row key={item.key} {...rowProps(item)} item={item} />
      ))}
    </div>
  );
}
