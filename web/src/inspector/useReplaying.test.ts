import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { type Entry, OURS } from "@/inspector/entries";
import { useReplaying } from "@/inspector/useReplaying";
import { replays } from "@/state/replay";

const entry = (at: number): Entry => {
  const delta = { type: "text-delta", id: "t", delta: `${at} ` };
  const frame = at === 1 ? { type: "start" } : at === 2 ? { type: "text-start", id: "t" } : delta;
  const frames = { [OURS]: [frame] };
  const usual = { ts: null, lines: [], endings: {}, waits: false };
  return { seq: at, id: at, event: { type: "any" }, frames, ...usual };
};
const log = (length: number) => Array.from({ length }, (_, at) => entry(at + 1));
const leave = () => {};

function replay(first: { length: number; at?: number }) {
  const { rerender, unmount } = renderHook(
    ({ length, at }: { length: number; at?: number }) =>
      useReplaying("run_1", log(length), at, leave),
    { initialProps: first },
  );
  return { show: rerender, unmount };
}
const text = () => {
  const [part] = replays.get().shown?.message.parts ?? [];
  return part && "text" in part ? part.text.trim() : undefined;
};

it("shows a moment of a run that goes on and on", async () => {
  const { show } = replay({ length: 20 });
  show({ length: 20, at: 4 });
  let length = 20;
  // Something new comes at every step that the message takes.
  for (; length < 500 && !replays.get().shown; length++) {
    await act(() => Promise.resolve());
    show({ length, at: 4 });
  }
  expect([text(), length < 500]).toEqual(["3 4", true]);
});

it("says how long the run is by now, and leaves the message as it is", async () => {
  const { show } = replay({ length: 20, at: 4 });
  await waitFor(() => expect(text()).toBe("3 4"));
  const { message } = replays.get().shown ?? {};
  show({ length: 30, at: 4 });
  expect(replays.get().shown).toMatchObject({ at: 4, of: 30 });
  expect(replays.get().shown?.message).toBe(message);
});

it("comes to where the slider was moved last, and ends when it is left", async () => {
  const { show, unmount } = replay({ length: 20, at: 4 });
  for (const at of [5, 9, 6]) show({ length: 20, at });
  await waitFor(() => expect(text()).toBe("3 4 5 6"));
  show({ length: 20 });
  expect(replays.get().shown).toBeUndefined();
  show({ length: 20, at: 7 });
  unmount();
  await act(() => new Promise((resolve) => setTimeout(resolve)));
  expect(replays.get().shown).toBeUndefined();
});
