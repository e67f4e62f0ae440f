import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { RunReader } from "@/runs/reader";
import { Network, refusal, Stream } from "@/testing/server";
import { until } from "@/testing/waiting";

const ROUTE = "GET api/runs/r%201/events";
const over = () => new Response(null, { status: 204 });

function open(): { reader: RunReader; received: string[]; leave: () => void } {
  const received: string[] = [];
  const reader = new RunReader("r 1", { path: "events", query: { format: "panes" } }, (batch) => {
    received.push(...batch.map(({ data }) => data));
  });
  const leave = reader.open();
  onTestFinished(leave);
  return { reader, received, leave };
}
const phase = (reader: RunReader) => reader.state.get().phase;

afterEach(() => vi.useRealTimers());

it("reads a run until the server reports its end", async () => {
  const network = new Network().on(ROUTE, ({ query }) =>
    query.get("after") === "2.1"
      ? over()
      : new Stream().sendFrames(["1.1", "a"], ["2.1", "b"]).cut(),
  );
  const { reader, received } = open();
  await until(() => expect(phase(reader)).toBe("over"));
  expect(received).toEqual(["a", "b"]);
  const request = network.to(ROUTE).map(({ query }) => Object.fromEntries(query));
  expect(request).toEqual([
    { format: "panes", live: "sse" },
    { format: "panes", live: "sse", after: "2.1" },
  ]);
});

it("resumes from its cursor after a lost connection, and reports the loss", async () => {
  const first = new Stream();
  const network = new Network().on(ROUTE, ({ query }) => {
    if (!query.has("after")) return first.sendFrames(["1.1", "a"], ["1.2", "b"]).response;
    return query.get("after") === "1.2" ? new Stream().sendFrames(["2.1", "c"]).cut() : over();
  });
  const { reader, received } = open();
  await until(() => expect(received).toEqual(["a", "b"]));
  expect(phase(reader)).toBe("reading");
  network.isDown = true;
  first.break();
  await until(() => expect(phase(reader)).toBe("lost"));
  network.isDown = false;
  window.dispatchEvent(new Event("online"));
  await until(() => expect(phase(reader)).toBe("over"));
  expect(received).toEqual(["a", "b", "c"]);
});

it("notices a connection in which nothing comes any more", async () => {
  vi.useFakeTimers();
  const network = new Network().on(ROUTE, (request) =>
    network.requests.length === 1 ? new Stream(request).sendFrames(["1.1", "a"]).response : over(),
  );
  const { reader, received } = open();
  await vi.advanceTimersByTimeAsync(29_000);
  expect([received, phase(reader)]).toEqual([["a"], "reading"]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(phase(reader)).toBe("over");
});

it("ends when it is closed, and sends no more requests", async () => {
  const network = new Network().on(
    ROUTE,
    (request) => new Stream(request).sendFrames(["1.1", "a"]).response,
  );
  const { received, leave } = open();
  await until(() => expect(received).toEqual(["a"]));
  leave();
  expect(network.requests[0]?.signal?.aborted).toBe(true);
  vi.useFakeTimers();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(network.requests).toHaveLength(1);
});

it("reads nothing while the page is hidden, and continues after that", async () => {
  const seen = vi.spyOn(document, "visibilityState", "get");
  const look = (state: DocumentVisibilityState) => {
    seen.mockReturnValue(state);
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const network = new Network().on(ROUTE, (request) => {
    if (!request.query.has("after")) return new Stream(request).sendFrames(["1.1", "a"]).response;
    return request.query.get("after") === "1.1"
      ? new Stream().sendFrames(["2.1", "b"]).cut()
      : over();
  });
  const { reader, received } = open();
  await until(() => expect(received).toEqual(["a"]));
  look("hidden");
  expect(network.requests[0]?.signal?.aborted).toBe(true);
  const phases: string[] = [];
  reader.state.subscribe(() => phases.push(phase(reader)));
  await new Promise((resolve) => setTimeout(resolve));
  look("visible");
  await until(() => expect(phase(reader)).toBe("over"));
  expect(phases).toEqual(["over"]);
  expect(received).toEqual(["a", "b"]);
  look("hidden");
  look("visible");
  expect(network.requests).toHaveLength(3);
});

it("knows a run that is not there", async () => {
  new Network();
  const { reader } = open();
  await until(() => expect(phase(reader)).toBe("gone"));
});

it("reports the server's error", async () => {
  new Network().on(ROUTE, () => refusal(400, "bad_cursor", "there is no such place"));
  const { reader } = open();
  await until(() => expect(phase(reader)).toBe("failed"));
  expect(reader.state.get().problem).toBe("there is no such place");
});

it("does not retry at once where a response is empty", async () => {
  vi.useFakeTimers();
  const network = new Network().on(ROUTE, () => new Stream().cut());
  const { reader } = open();
  await vi.advanceTimersByTimeAsync(100);
  expect([network.requests.length, phase(reader)]).toEqual([1, "lost"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(network.requests.length).toBe(2);
});
