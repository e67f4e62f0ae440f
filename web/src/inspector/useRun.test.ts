import { renderHook, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { type Entry, OURS } from "@/inspector/entries";
import { storedRun } from "@/inspector/source";
import { type InspectedRun, useRun } from "@/inspector/useRun";
import { json, later, Network, type RecordedRequest, refusal, Stream } from "@/testing/server";

const RUN = "GET api/runs/run_1/inspect";

/** A run of three entries, as the server returns it in the requested formats. */
function logResponse({ query }: RecordedRequest): Response {
  if (query.has("after")) return new Response(null, { status: 204 });
  const formats = query.get("format")?.split(",") ?? [];
  const frames = Object.fromEntries(formats.map((format) => [format, [{ type: format }]]));
  const documents = ["start", "status", "done"].map((type, at): [string, string] => {
    const more = { ts: null, lines: [], frames, endings: {}, waits: false };
    return [`${at + 1}.1`, JSON.stringify({ seq: at + 1, id: at + 1, event: { type }, ...more })];
  });
  return new Stream().sendFrames(...documents).cut();
}

const source = storedRun("run_1");

/** All that was ever shown, and not only what it came to. */
function inspect() {
  const shown: InspectedRun[] = [];
  const { rerender, result } = renderHook(
    ({ format }) => {
      const run = useRun(source, format);
      shown.push(run);
      return run;
    },
    { initialProps: { format: OURS } },
  );
  return { shown, result, choose: (format: string) => rerender({ format }) };
}

const isConsistent = ({ entries, format }: InspectedRun) =>
  entries.every((entry: Entry) => entry.frames[format]?.length === 1);

it("shows no entry under a format in which it was not read", async () => {
  const answer = later();
  new Network().on(RUN, (request) =>
    request.query.get("format")?.includes("ag-ui")
      ? answer.response.then(() => logResponse(request))
      : logResponse(request),
  );
  const { shown, result, choose } = inspect();
  await waitFor(() => expect(result.current.phase).toBe("over"));
  choose("ag-ui:1.0");
  expect([result.current.format, result.current.phase]).toEqual([OURS, "over"]);
  answer.answer(json({}));
  await waitFor(() => expect(result.current.format).toBe("ag-ui:1.0"));
  expect(result.current.phase).toBe("over");
  expect(shown.filter((run) => !isConsistent(run))).toEqual([]);
});

it("shows that another format failed, beside the entries of an ended run", async () => {
  let isRefused = true;
  new Network().on(RUN, (request) =>
    isRefused && request.query.get("format")?.includes("ag-ui")
      ? refusal(400, "unknown_profile", "no such profile")
      : logResponse(request),
  );
  const { shown, result, choose } = inspect();
  await waitFor(() => expect(result.current.phase).toBe("over"));
  choose("ag-ui:1.0");
  await waitFor(() => expect(result.current.phase).toBe("failed"));
  expect(result.current).toMatchObject({ format: OURS, problem: "no such profile" });
  expect(result.current.entries).toHaveLength(3);
  isRefused = false;
  result.current.retry();
  await waitFor(() => expect(result.current.format).toBe("ag-ui:1.0"));
  expect(result.current.phase).toBe("over");
  expect(shown.filter((run) => !isConsistent(run))).toEqual([]);
});
