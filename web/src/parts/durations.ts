import { strings } from "@/strings";

/** A duration as people say it: whole seconds, then minutes. */
export function spoken(ms: number): string {
  if (ms < 1000) return strings.parts.instant;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return strings.parts.seconds(seconds);
  return strings.parts.minutes(Math.floor(seconds / 60), seconds % 60);
}
