import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { PanesReading } from "@/panes/reading";
import { Network, Stream } from "@/testing/server";

const ROUTE = "GET api/runs/r/events";
const piece = (n: number): [string, string] => [
  `${n}.1`,
  JSON.stringify({
    message_id: "m",
    content: `${n} `,
    metadata: { component: "terminal", streaming: true },
  }),
];

function read() {
  const reading = new PanesReading("r");
  const shown: string[] = [];
  const record = () => shown.push(reading.messages.get().all.get("m")?.content ?? "");
  reading.messages.subscribe(record);
  const leave = reading.open();
  onTestFinished(leave);
  return { reading, shown };
}
afterEach(() => vi.useRealTimers());

it("shows a burst in one go", async () => {
  vi.useFakeTimers();
  const stream = new Stream();
  new Network().on(ROUTE, () => stream.response);
  const { shown } = read();
  for (const n of [1, 2, 3, 4]) {
    stream.sendFrames(piece(n));
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(shown).toEqual([]);
  await vi.advanceTimersByTimeAsync(100);
  expect(shown).toEqual(["1 2 3 4 "]);
});

it("has all of it when the reading is over", async () => {
  vi.useFakeTimers();
  new Network().on(ROUTE, ({ query }) =>
    query.has("after")
      ? new Response(null, { status: 204 })
      : new Stream().sendFrames(piece(1)).cut(),
  );
  const { reading, shown } = read();
  const listener = vi.fn(() => expect(shown).toEqual(["1 "]));
  reading.reader.state.subscribe(listener);
  await vi.advanceTimersByTimeAsync(10);
  expect([reading.reader.state.get().phase, listener.mock.calls.length]).toEqual(["over", 1]);
});
