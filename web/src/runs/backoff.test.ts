import { expect, it, vi } from "vitest";
import { Backoff } from "@/runs/backoff";

const delays = (random: number) => {
  vi.spyOn(Math, "random").mockReturnValue(random);
  const backoff = new Backoff();
  return Array.from({ length: 6 }, () => backoff.next());
};

it("doubles up to a limit, and jitter only shortens it", () => {
  expect(delays(0)).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
  expect(delays(1)).toEqual([375, 750, 1500, 3000, 6000, 6000]);
});

it("begins again after a connection that lasted", () => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  const backoff = new Backoff();
  backoff.next();
  backoff.held(1_000);
  expect(backoff.next()).toBe(1000);
  backoff.held(11_000);
  expect(backoff.next()).toBe(500);
});
