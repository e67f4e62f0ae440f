import { type Figures, figuresOf } from "@/inspector/timeline/figures";
import type { Timeline } from "@/inspector/timeline/spans";
import { costText, lengthText } from "@/inspector/timeline/words";
import { locale } from "@/language";
import { strings } from "@/strings";

const words = strings.inspecting.compare;

type Both = readonly [Timeline, Timeline];
type Show = (value: number, timed: boolean) => string;
const number: Show = (value) => value.toLocaleString(locale);

const ROWS: readonly [name: keyof typeof words.rows & keyof Figures, show: Show][] = [
  ["duration", lengthText],
  ["waited", lengthText],
  ["turns", number],
  ["tools", number],
  ["failed", number],
  ["tokens", number],
  ["cost", (value) => costText(value)],
  ["events", number],
];

/** The figures of two runs, and how they differ. */
export function ComparedFigures({ timelines }: { timelines: Both }) {
  const [first, second] = timelines.map(figuresOf) as [Figures, Figures];
  const timed = timelines.every((each) => each.timed);
  return (
    <section aria-label={words.figures}>
      <table className="w-full text-mono tabular-nums">
        <thead>
          <tr className="border-b text-label text-ink-2">
            <th scope="col" className="py-1.5 text-start font-medium">
              {words.figures}
            </th>
            <th scope="col" className="text-end font-medium">
              {words.first}
            </th>
            <th scope="col" className="text-end font-medium">
              {words.second}
            </th>
            <th scope="col" className="text-end font-medium">
              {words.difference}
            </th>
          </tr>
        </thead>
        <tbody>
          {ROWS.map(([name, show]) => (
            <tr key={name} className="border-b">
              <th scope="row" className="py-1.5 pe-2 text-start font-normal text-ink-2">
                {words.rows[name]}
              </th>
              <td className="text-end">{known(first[name], (each) => show(each, timed))}</td>
              <td className="text-end">{known(second[name], (each) => show(each, timed))}</td>
              <td className="text-end font-medium">
                {known(minus(second[name], first[name]), (by) =>
                  difference(by, (each) => show(each, timed)),
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The cost of a run may be unknown, which is not the same as nothing. */
const known = (value: number | undefined, show: (value: number) => string): string =>
  value === undefined ? strings.inspecting.runs.unknown : show(value);

const minus = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined ? undefined : one - other;

/** With its sign; the sign, not a colour, says whether it is more or less. */
function difference(by: number, show: (value: number) => string): string {
  if (by === 0) return words.same;
  return by > 0 ? words.more(show(by)) : words.less(show(-by));
}
