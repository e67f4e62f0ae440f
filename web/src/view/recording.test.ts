import { waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { Network, refusal } from "@/testing/server";
import { Recording } from "@/view/recording";

const FACTS = {
  kind: "output",
  framework: "claude",
  detected: { name: "Claude's lines", framework: "claude" },
  frameworks: ["claude", "emitted"],
  prompt: null,
};
const entry = (seq: number, type: string) => ({
  seq,
  id: seq,
  ts: null,
  event: { type },
  lines: [],
});

const stream = (...documents: unknown[]) =>
  new Response(documents.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(""));

test("a recording is sent as often as another format is read, and not more", async () => {
  const network = new Network().on("POST api/recordings", () =>
    stream({ recording: FACTS }, entry(1, "start"), entry(2, "done")),
  );
  const recording = new Recording(new File(["{}"], "run.jsonl"));
  const close = recording.own.open();
  await waitFor(() => expect(recording.own.state.get().phase).toBe("over"));
  expect(recording.own.entries.get().all.map(({ seq }) => seq)).toEqual([1, 2]);
  expect(recording.facts.get().known).toEqual(FACTS);
  close();
  recording.own.open();
  expect(network.requests).toHaveLength(1);
  recording.read(["ai-sdk:page", "ag-ui"]).open();
  await waitFor(() => expect(network.requests).toHaveLength(2));
  expect(network.requests.map(({ query }) => query.get("format"))).toEqual([
    "ai-sdk:page",
    "ai-sdk:page,ag-ui",
  ]);
  expect(await recording.events()).toHaveLength(2);
});

test("two recordings are different, whatever their names", () => {
  const [one, other] = [1, 2].map(() => new Recording(new File(["{}"], "run.jsonl")));
  expect(one?.key).not.toBe(other?.key);
});

test("a file that was moved is not taken for a server that is away", async () => {
  new Network();
  const file = new File(["{}"], "run.jsonl");
  const moved = () => Promise.reject(new DOMException("", "NotFoundError"));
  Object.assign(file, { slice: () => ({ arrayBuffer: moved }) });
  const recording = new Recording(file);
  recording.own.open();
  const problem = "The file can't be read any more. Choose it again.";
  await waitFor(() => expect(recording.own.state.get().problem).toBe(problem));
});

test("a refusal and an unfinished reading are failures with a sentence", async () => {
  const network = new Network().on("POST api/recordings", () =>
    refusal(400, "invalid_request", "the file is empty"),
  );
  const empty = new Recording(new File([""], "x"));
  empty.own.open();
  await waitFor(() => expect(empty.own.state.get().phase).toBe("failed"));
  expect(empty.own.state.get().problem).toContain("the file is empty");
  network.on("POST api/recordings", () =>
    stream({ recording: FACTS }, entry(1, "start"), { error: "Only the beginning is shown." }),
  );
  const long = new Recording(new File(["{}"], "x"), "claude");
  long.own.open();
  await waitFor(() => expect(long.own.state.get().problem).toBe("Only the beginning is shown."));
  expect(long.own.entries.get().all).toHaveLength(1);
});
