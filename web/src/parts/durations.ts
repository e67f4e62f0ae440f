import { strings } from "@/strings";

const words = strings.parts;

/**
 * Formats a duration: tenths below a second, then whole seconds, then minutes. Rounded before it is
 * split, so that it never shows 60 seconds.
 */
export function duration(ms: number): string {
  const tenths = Math.max(1, Math.round(ms / 100));
  if (tenths < 10) return words.seconds(tenths / 10);
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return words.seconds(seconds);
  return words.minutes(Math.floor(seconds / 60), seconds % 60);
}
