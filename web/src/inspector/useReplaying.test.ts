import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { type Entry, OURS } from "@/inspector/entries";
import { useReplaying } from "@/inspector/useReplaying";
import { replays } from "@/state/replay";

const entry = (at: number): Entry => {
  const delta = { type: "text-delta", id: "t", delta: `${at} ` };
  const begin = [{ type: "start" }, { type: "text-start", id: "t" }];
  // Something else between any two pieces, so that they stay two.
  const other = { type: "data-any", id: "d", data: at };
  const frame = begin[at - 1] ?? (at % 2 ? delta : other);
  const frames = { [OURS]: [frame] };
  const usual = { ts: null, lines: [], endings: {}, waits: false };
  return { seq: at, id: at, event: { type: "any" }, frames, ...usual };
};
const log = (length: number) => Array.from({ length }, (_, at) => entry(at + 1));
const leave = () => {};

const whole = log(1_000);

function replay(first: { length: number; at?: number }) {
  const { rerender, unmount } = renderHook(
    ({ length, at }: { length: number; at?: number }) =>
      useReplaying("run_1", whole.slice(0, length), at, leave),
    { initialProps: first },
  );
  return { show: rerender, unmount };
}
const text = () => {
  const [part] = replays.get().shown?.message.parts ?? [];
  return part && "text" in part ? part.text.trim() : undefined;
};

/** The text up to an entry. */
const textAt = (at: number) =>
  Array.from({ length: at }, (_, n) => n + 1)
    .filter((n) => n > 2 && n % 2)
    .join(" ");

it("shows a moment of a run that goes on and on", async () => {
  const { show } = replay({ length: 60 });
  let length = 60;
  // Something new comes long before the message is made.
  for (; length < 1_000 && !replays.get().shown; length++) {
    show({ length, at: 41 });
    await Promise.resolve();
  }
  expect([text(), length < 1_000]).toEqual([textAt(41), true]);
});

it("leaves a moment as it is, however long the run becomes", async () => {
  const { show } = replay({ length: 20, at: 5 });
  await waitFor(() => expect(text()).toBe(textAt(5)));
  const { shown } = replays.get();
  show({ length: 30, at: 5 });
  expect(shown?.at).toBe(5);
  expect(replays.get().shown).toBe(shown);
});

it("comes to where the slider was moved last, and ends when it is left", async () => {
  const { show, unmount } = replay({ length: 20, at: 5 });
  for (const at of [7, 15, 9]) show({ length: 20, at });
  await waitFor(() => expect(text()).toBe(textAt(9)));
  show({ length: 20 });
  expect(replays.get().shown).toBeUndefined();
  show({ length: 20, at: 7 });
  unmount();
  await act(() => new Promise((resolve) => setTimeout(resolve)));
  expect(replays.get().shown).toBeUndefined();
});
