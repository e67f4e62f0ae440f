import { renderHook, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { type Entry, OURS } from "@/inspector/entries";
import { type InspectedRun, useRun } from "@/inspector/useRun";
import { type Asked, json, later, Network, refusal, Stream } from "@/testing/server";

const RUN = "GET api/runs/run_1/inspect";

/** A run of three entries, as the server tells it in the formats that are asked for. */
function told({ query }: Asked): Response {
  if (query.has("after")) return new Response(null, { status: 204 });
  const formats = query.get("format")?.split(",") ?? [];
  const frames = Object.fromEntries(formats.map((format) => [format, [{ type: format }]]));
  const documents = ["start", "status", "done"].map((type, at): [string, string] => {
    const more = { ts: null, lines: [], frames, endings: {}, waits: false };
    return [`${at + 1}.1`, JSON.stringify({ seq: at + 1, id: at + 1, event: { type }, ...more })];
  });
  return new Stream().tell(...documents).cut();
}

/** All that was ever shown, and not only what it came to. */
function inspect() {
  const shown: InspectedRun[] = [];
  const { rerender, result } = renderHook(
    ({ format }) => {
      const run = useRun("run_1", format);
      shown.push(run);
      return run;
    },
    { initialProps: { format: OURS } },
  );
  return { shown, result, choose: (format: string) => rerender({ format }) };
}

const isTold = ({ entries, format }: InspectedRun) =>
  entries.every((entry: Entry) => entry.frames[format]?.length === 1);

it("shows no entry under a format in which it was not read", async () => {
  const answer = later();
  new Network().on(RUN, (asked) =>
    asked.query.get("format")?.includes("ag-ui")
      ? answer.response.then(() => told(asked))
      : told(asked),
  );
  const { shown, result, choose } = inspect();
  await waitFor(() => expect(result.current.phase).toBe("over"));
  choose("ag-ui:1.0");
  expect([result.current.format, result.current.phase]).toEqual([OURS, "over"]);
  answer.answer(json({}));
  await waitFor(() => expect(result.current.format).toBe("ag-ui:1.0"));
  expect(result.current.phase).toBe("over");
  expect(shown.filter((run) => !isTold(run))).toEqual([]);
});

it("says that another format failed, beside what there is of a run that is over", async () => {
  let isRefused = true;
  new Network().on(RUN, (asked) =>
    isRefused && asked.query.get("format")?.includes("ag-ui")
      ? refusal(400, "unknown_profile", "no such profile")
      : told(asked),
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
  expect(shown.filter((run) => !isTold(run))).toEqual([]);
});
