import { expect, test } from "vitest";
import { duration } from "@/parts/durations";

test.each([
  [0, "0.1s"],
  [49, "0.1s"],
  [400, "0.4s"],
  [949, "0.9s"],
  [999, "1s"],
  [1000, "1s"],
  [1499, "1s"],
  [5240, "5s"],
  [12_400, "12s"],
  [59_499, "59s"],
  [59_960, "1m 0s"],
  [60_000, "1m 0s"],
  [119_499, "1m 59s"],
  [119_600, "2m 0s"],
  [125_000, "2m 5s"],
  [3_600_000, "60m 0s"],
])("%d ms are %s", (ms, expected) => {
  expect(duration(ms)).toBe(expected);
});
