import { locale } from "@/language";

const clock = new Intl.DateTimeFormat(locale, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23", // short in every language
});
const weekday = new Intl.DateTimeFormat(locale, { weekday: "short" });
const date = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });

const DAY = 86_400_000;

/** When something last happened in a chat, as short as its group in the list allows. */
export function shortTime(time: number, now: Date): string {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  if (time >= today - DAY) return clock.format(time);
  return time >= today - 7 * DAY ? weekday.format(time) : date.format(time);
}

export const fullTime = (time: number): string => full.format(time);
