import type { ChatRow } from "@/api";
import { locale as pageLocale } from "@/language";
import { strings } from "@/strings";

interface Group<T extends ChatRow> {
  label: string;
  rows: T[];
}

const DAY = 86_400_000;

/** Groups the chats by last activity, in order. */
export function groupByTime<T extends ChatRow>(
  rows: T[],
  now: Date,
  locale = pageLocale,
): Group<T>[] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const months = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" });
  const labelOf = ({ updatedAt }: ChatRow): string => {
    if (updatedAt >= today) return strings.shell.today;
    // Days may have 23 or 25 hours: noon of yesterday is always yesterday.
    const days = Math.ceil((today - startOfDay(updatedAt)) / DAY - 0.5);
    if (days <= 1) return strings.shell.yesterday;
    return days <= 7 ? strings.shell.week : months.format(updatedAt);
  };
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const label = labelOf(row);
    groups.set(label, [...(groups.get(label) ?? []), row]);
  }
  return Array.from(groups, ([label, found]) => ({ label, rows: found }));
}

function startOfDay(time: number): number {
  const date = new Date(time);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
