import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type BlockLife, useFold } from "@/parts/useFold";
import { keepOpen } from "@/state/folds";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const fold = (life: BlockLife, id = "m1/a") => {
  const hook = renderHook((props: BlockLife) => useFold(id, props), { initialProps: life });
  return {
    isOpen: () => hook.result.current[0],
    click: (open: boolean) => act(() => hook.result.current[1](open)),
    now: (next: BlockLife) => hook.rerender(next),
    pass: (ms: number) => act(() => vi.advanceTimersByTime(ms)),
    leave: () => hook.unmount(),
  };
};

test("a block is open while it is written, however long that takes", () => {
  const block = fold({ active: true });
  block.pass(60_000);
  expect(block.isOpen()).toBe(true);
});

test("a block closes half a second after its own end, not before", () => {
  const block = fold({ active: true });
  block.now({ active: false });
  block.pass(499);
  expect(block.isOpen()).toBe(true);
  block.pass(1);
  expect(block.isOpen()).toBe(false);
});

test("what is shown of it again in between does not delay its closing", () => {
  const block = fold({ active: true });
  block.now({ active: false });
  block.pass(300);
  block.now({ active: false });
  block.pass(200);
  expect(block.isOpen()).toBe(false);
});

test("a block closes at once when a newer one appears, also within that half second", () => {
  const writing = fold({ active: true });
  writing.now({ active: true, newer: true });
  expect(writing.isOpen()).toBe(false);

  const ended = fold({ active: true }, "m1/b");
  ended.now({ active: false });
  ended.pass(100);
  ended.now({ active: false, newer: true });
  expect(ended.isOpen()).toBe(false);
});

test("a block of an old message begins closed", () => {
  expect(fold({ active: false }).isOpen()).toBe(false);
  expect(fold({ active: true, newer: true }).isOpen()).toBe(false);
});

test("a block that was closed by a click stays closed while it is written", () => {
  const block = fold({ active: true });
  block.click(false);
  block.now({ active: true });
  block.pass(5000);
  expect(block.isOpen()).toBe(false);
});

test("a block that was opened by a click stays open after its end and behind newer ones", () => {
  const block = fold({ active: true });
  block.click(false);
  block.click(true);
  block.now({ active: false });
  block.pass(5000);
  block.now({ active: false, newer: true });
  block.pass(5000);
  expect(block.isOpen()).toBe(true);
});

test("a click is remembered in the session, for that block alone", () => {
  const block = fold({ active: false });
  block.click(true);
  block.leave();
  expect(fold({ active: false }).isOpen()).toBe(true);
  expect(fold({ active: false }, "m1/b").isOpen()).toBe(false);
});

test("a click is forgotten when the session ends", () => {
  const block = fold({ active: false });
  block.click(true);
  block.leave();
  sessionStorage.clear();
  expect(fold({ active: false }).isOpen()).toBe(false);
});

test("who prefers blocks open has them open, old and new, except those closed by a click", () => {
  keepOpen.set(true);
  const block = fold({ active: true });
  block.now({ active: false, newer: true });
  block.pass(5000);
  expect(block.isOpen()).toBe(true);
  expect(fold({ active: false }, "m1/old").isOpen()).toBe(true);
  block.click(false);
  expect(block.isOpen()).toBe(false);
});

test("no timer is left of a block that is gone", () => {
  const block = fold({ active: true });
  block.now({ active: false });
  block.leave();
  expect(vi.getTimerCount()).toBe(0);
});
