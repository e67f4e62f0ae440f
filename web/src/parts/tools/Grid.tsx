import { ScrollBox } from "@/content/ScrollBox";
import { Section } from "@/parts/tools/layout";
import type { Grid as Rows } from "@/parts/tools/reading";
import { strings } from "@/strings";

const words = strings.activity;
const MOST = 100;

/** Rows as a table. */
export function Grid({ grid: { columns, rows } }: { grid: Rows }) {
  const shown = rows.slice(0, MOST);
  return (
    <Section label={words.rows(shown.length, rows.length)}>
      <ScrollBox as="div" label={words.table} maxHeight={320} className="rounded-lg border">
        <table className="w-full text-mono">
          <thead className="bg-ground-2 text-start">
            <tr>
              {columns.map((name, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns may share a name
                <th key={place} scope="col" className="px-2 py-1 text-start font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id
              <tr key={place} className="border-t">
                {columns.map((_, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells have no id
                  <td key={at} className="px-2 py-1 align-top tabular-nums">
                    {written(row[at])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </Section>
  );
}

function written(value: unknown): string {
  if (value === null || value === undefined) return strings.content.nothing;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
