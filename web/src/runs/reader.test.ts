import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { RunReader } from "@/runs/reader";
import { Network, refusal, Stream } from "@/testing/server";
import { until } from "@/testing/waiting";

const ROUTE = "GET api/runs/r%201/events";
const over = () => new Response(null, { status: 204 });

function open(): { reader: RunReader; told: string[]; leave: () => void } {
  const told: string[] = [];
  const reader = new RunReader("r 1", { path: "events", query: { format: "panes" } }, (batch) => {
    told.push(...batch.map(({ data }) => data));
  });
  const leave = reader.open();
  onTestFinished(leave);
  return { reader, told, leave };
}
const phase = (reader: RunReader) => reader.state.get().phase;

afterEach(() => vi.useRealTimers());

it("reads a run until the server says that there is no more", async () => {
  const network = new Network().on(ROUTE, ({ query }) =>
    query.get("after") === "2.1" ? over() : new Stream().tell(["1.1", "a"], ["2.1", "b"]).cut(),
  );
  const { reader, told } = open();
  await until(() => expect(phase(reader)).toBe("over"));
  expect(told).toEqual(["a", "b"]);
  const asked = network.to(ROUTE).map(({ query }) => Object.fromEntries(query));
  expect(asked).toEqual([
    { format: "panes", live: "sse" },
    { format: "panes", live: "sse", after: "2.1" },
  ]);
});

it("goes on from its cursor after a lost connection, and says that it is lost", async () => {
  const first = new Stream();
  const network = new Network().on(ROUTE, ({ query }) => {
    if (!query.has("after")) return first.tell(["1.1", "a"], ["1.2", "b"]).response;
    return query.get("after") === "1.2" ? new Stream().tell(["2.1", "c"]).cut() : over();
  });
  const { reader, told } = open();
  await until(() => expect(told).toEqual(["a", "b"]));
  expect(phase(reader)).toBe("reading");
  network.isDown = true;
  first.break();
  await until(() => expect(phase(reader)).toBe("lost"));
  network.isDown = false;
  window.dispatchEvent(new Event("online"));
  await until(() => expect(phase(reader)).toBe("over"));
  expect(told).toEqual(["a", "b", "c"]);
});

it("notices a connection in which nothing comes any more", async () => {
  vi.useFakeTimers();
  const network = new Network().on(ROUTE, (asked) =>
    network.asked.length === 1 ? new Stream(asked).tell(["1.1", "a"]).response : over(),
  );
  const { reader, told } = open();
  await vi.advanceTimersByTimeAsync(29_000);
  expect([told, phase(reader)]).toEqual([["a"], "reading"]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(phase(reader)).toBe("over");
});

it("ends when it is left, and asks no more", async () => {
  const network = new Network().on(ROUTE, (asked) => new Stream(asked).tell(["1.1", "a"]).response);
  const { told, leave } = open();
  await until(() => expect(told).toEqual(["a"]));
  leave();
  expect(network.asked[0]?.signal?.aborted).toBe(true);
  vi.useFakeTimers();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(network.asked).toHaveLength(1);
});

it("reads nothing while nobody looks, and goes on after that", async () => {
  const seen = vi.spyOn(document, "visibilityState", "get");
  const look = (state: DocumentVisibilityState) => {
    seen.mockReturnValue(state);
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const network = new Network().on(ROUTE, (asked) => {
    if (!asked.query.has("after")) return new Stream(asked).tell(["1.1", "a"]).response;
    return asked.query.get("after") === "1.1" ? new Stream().tell(["2.1", "b"]).cut() : over();
  });
  const { reader, told } = open();
  await until(() => expect(told).toEqual(["a"]));
  look("hidden");
  expect(network.asked[0]?.signal?.aborted).toBe(true);
  const phases: string[] = [];
  reader.state.subscribe(() => phases.push(phase(reader)));
  await new Promise((resolve) => setTimeout(resolve));
  look("visible");
  await until(() => expect(phase(reader)).toBe("over"));
  expect(phases).toEqual(["over"]);
  expect(told).toEqual(["a", "b"]);
  look("hidden");
  look("visible");
  expect(network.asked).toHaveLength(3);
});

it("knows a run that is not there", async () => {
  new Network();
  const { reader } = open();
  await until(() => expect(phase(reader)).toBe("gone"));
});

it("says what the server said no to", async () => {
  new Network().on(ROUTE, () => refusal(400, "bad_cursor", "there is no such place"));
  const { reader } = open();
  await until(() => expect(phase(reader)).toBe("failed"));
  expect(reader.state.get().problem).toBe("there is no such place");
});

it("does not ask at once again where a response ends without a word", async () => {
  vi.useFakeTimers();
  const network = new Network().on(ROUTE, () => new Stream().cut());
  const { reader } = open();
  await vi.advanceTimersByTimeAsync(100);
  expect([network.asked.length, phase(reader)]).toEqual([1, "lost"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(network.asked.length).toBe(2);
});
