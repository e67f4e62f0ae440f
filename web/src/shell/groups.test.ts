import { expect, it } from "vitest";
import { groupByTime } from "@/shell/groups";

const row = (id: string, ...when: [number, number, number, number?]) => {
  const [year, month, day, hour = 12] = when;
  const time = new Date(year, month - 1, day, hour).getTime();
  return { id, title: id, createdAt: time, updatedAt: time };
};
const now = new Date(2026, 3, 1, 9);
const grouped = (...rows: ReturnType<typeof row>[]) =>
  groupByTime(rows, now, "en").map(({ label, rows: found }) => [label, found.map(({ id }) => id)]);

it("puts chats under the day, the week or the month in which something happened", () => {
  expect(
    grouped(
      row("now", 2026, 4, 1, 8),
      row("midnight", 2026, 4, 1, 0),
      row("late yesterday", 2026, 3, 31, 23),
      row("early yesterday", 2026, 3, 31, 0),
      row("this week", 2026, 3, 30),
      row("seven days ago", 2026, 3, 25),
      row("eight days ago", 2026, 3, 24),
      row("last year", 2025, 12, 24),
    ),
  ).toEqual([
    ["Today", ["now", "midnight"]],
    ["Yesterday", ["late yesterday", "early yesterday"]],
    ["Previous 7 days", ["this week", "seven days ago"]],
    ["March 2026", ["eight days ago"]],
    ["December 2025", ["last year"]],
  ]);
});

it("shows a clock that goes ahead as today", () => {
  expect(grouped(row("tomorrow", 2026, 4, 2))).toEqual([["Today", ["tomorrow"]]]);
});
